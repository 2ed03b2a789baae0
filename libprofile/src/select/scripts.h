// Scripts without an ending, which a path alone does not tell: "bin/train" of a person, and
// "bin/torchrun", which only starts an installed package.
#pragma once

#include "memtool/profile/base/key_hash.h"
#include "memtool/profile/model/recording.h"

namespace memtool {

struct Scripts {
  // Files that have code in no function ("<module>") and no ending of Python.
  KeySet<StringId> python;
  // Of these, those that do more than to start a package. What starts one is a single line of a
  // short file, which calls its main().
  KeySet<StringId> own;
};
Scripts FindScripts(const Recording& recording);

}  // namespace memtool
