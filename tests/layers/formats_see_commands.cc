// Must not compile: formats know no options and no terminal.
#include "session/session.h"
