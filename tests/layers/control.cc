// Compiles: what a layer may see.
#include "memtool/profile/recording.h"
