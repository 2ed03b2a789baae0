// Compiles: what a layer may see.
#include "memtool/profile/model/recording.h"
