// The driver by the names that the program is linked with: calls go through the PLT.
#include "programs/driver.h"

bool LinkedDriver(Driver* driver) {
#define SET(name, base, arguments) driver->name = &name;
  DRIVER_FUNCTIONS(SET)
#undef SET
  return true;
}
