#include "base/program.h"

int main(int argc, char** argv) {
  return memtool::commands::Program(argc, argv);
}
