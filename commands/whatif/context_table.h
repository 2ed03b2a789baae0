// memtool fit of a server's log: how many tokens, and sequences of them, its KV cache may have.
#pragma once

#include <string>

#include "memtool/profile/answers/context_fit.h"
#include "output/sentences.h"
#include "output/text_table.h"

namespace memtool::commands {

// `card_note`: what of a card counts; may be empty.
Sentences ContextSentences(const ContextFit& answer, const std::string& card_note);
TextTable ContextTable(const ContextFit& answer, Sentences said);

}  // namespace memtool::commands
