// Repeated integers, which writers may pack into one field or not.
#pragma once

#include <cstdint>

#include "support/wire.h"

namespace memtool::formats::hlo {

template <class Take>
void ForEachInt(const wire::Field& field, const char* name, Take take) {
  if (field.type == wire::kVarint) {
    return take(field.value);
  }
  ByteCursor values = field.Message(name);
  while (!values.done()) {
    take(values.Varint());
  }
}

}  // namespace memtool::formats::hlo
