// Must not compile: libprofile knows no file format.
#include "memtool/formats/open.h"
