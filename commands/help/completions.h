// Scripts that complete memtool's command lines in shells, made from what commands declare.
#pragma once

#include <string>
#include <string_view>

#include "memtool/profile/base/result.h"
#include "words/known_words.h"

namespace memtool::commands {

// The shells: "bash", "zsh", "fish".
KnownWords CompletionShells();
// The script, as that shell sources it. Errors: kUsage for another shell.
Result<std::string> CompletionScript(std::string_view shell);

}  // namespace memtool::commands
