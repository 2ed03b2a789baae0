// Must not compile: formats do not know options or a terminal.
#include "session/input_reader.h"
