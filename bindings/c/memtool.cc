// The functions of memtool.h: nothing is thrown out of them.
#include "memtool.h"

#include <dlfcn.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "arrow.h"
#include "base/program.h"
#include "help/vocabulary.h"
#include "memtool/profile/answers/write.h"
#include "memtool/profile/base/escape.h"
#include "outcome.h"
#include "output/escape.h"
#include "task.h"
#include "work.h"

struct memtool_task {
  std::shared_ptr<memtool::c::Task> task;
};

namespace memtool::c {

namespace {

// What there is no memory for is NULL.
template <class Make>
auto Guarded(Make make) noexcept -> decltype(make()) {
  try {
    return make();
  } catch (...) {
    return nullptr;
  }
}

std::unique_ptr<Outcome> OutcomeOf(std::string text) {
  auto outcome = std::make_unique<Outcome>();
  outcome->SetOut(std::move(text));
  return outcome;
}

// They start programs, or talk with somebody: what a process that only answers must not do.
bool NeedsOwnProcess(std::string_view command) {
  constexpr std::array<std::string_view, 5> kThose{"demo", "mcp", "open", "pprof", "run"};
  return std::find(kThose.begin(), kThose.end(), command) != kThose.end();
}

std::string VocabularyJson() {
  Value::Object all;
  for (const commands::CommandWords& command : commands::Vocabulary()) {
    if (NeedsOwnProcess(command.name)) {
      continue;
    }
    Value::Object options;
    for (const commands::OptionWords& option : command.options) {
      const std::string letter = option.letter == 0 ? "" : std::string(1, option.letter);
      options.emplace_back(option.name,
                           Value::List{option.value, option.about, letter, option.several});
    }
    all.emplace_back(command.name, Value::List{command.summary, std::move(options)});
  }
  return ToJson(all);
}

CommandLine ToLine(const char* const* words, std::size_t word_count,
                   const memtool_named_input* inputs, std::size_t input_count, bool as_table) {
  CommandLine line{.words = {words, words + word_count}, .inputs = {}, .as_table = as_table};
  for (std::size_t n = 0; n < input_count; ++n) {
    // It is shared with the outcome that it was given in, which may be freed meanwhile.
    line.inputs.push_back(
        {inputs[n].name, static_cast<const Input*>(inputs[n].input)->shared_from_this()});
  }
  return line;
}

}  // namespace

}  // namespace memtool::c

// NOLINTBEGIN(cppcoreguidelines-owning-memory): what callers in C own
extern "C" {

using memtool::c::Guarded;

void memtool_outcome_free(memtool_outcome* outcome) {
  delete static_cast<memtool::c::Outcome*>(outcome);
}

memtool_task* memtool_load(const char* path, const char* moment) {
  return Guarded([&] {
    return new memtool_task{memtool::c::BeginLoad(
        path, moment == nullptr ? std::nullopt : std::optional<std::string>(moment))};
  });
}

memtool_task* memtool_ask(const char* const* words, size_t word_count,
                          const memtool_named_input* inputs, size_t input_count, int as_table) {
  return Guarded([&] {
    return new memtool_task{memtool::c::BeginAnswer(
        memtool::c::ToLine(words, word_count, inputs, input_count, as_table != 0))};
  });
}

int memtool_wait(memtool_task* task, unsigned milliseconds) {
  return task->task->WaitFor(std::chrono::milliseconds(milliseconds)) ? 1 : 0;
}

uint64_t memtool_bytes_read(const memtool_task* task) {
  return task->task->read();
}

int64_t memtool_bytes_total(const memtool_task* task) {
  return task->task->total ? static_cast<int64_t>(*task->task->total) : -1;
}

int memtool_reads_pipe(const memtool_task* task) {
  return task->task->may_wait ? 1 : 0;
}

void memtool_cancel(memtool_task* task) {
  task->task->Abandon();
}

memtool_outcome* memtool_finish(memtool_task* task) {
  return task->task->Take().release();
}

void memtool_task_free(memtool_task* task) {
  if (task != nullptr) {
    task->task->Abandon();
    delete task;
  }
}

memtool_outcome* memtool_nested(const memtool_outcome* outcome, size_t column) {
  return Guarded([&]() -> memtool_outcome* {
    const auto& table = memtool::c::Whole(outcome).shared_table;
    const auto& data = table->columns.at(column).data;
    const auto* values = std::get_if<std::vector<memtool::Value>>(&data);
    std::string text = "[";
    for (std::size_t row = 0; values != nullptr && row < values->size(); ++row) {
      text += row == 0 ? "" : ",";
      text += memtool::ToJson((*values)[row]);
    }
    return memtool::c::OutcomeOf(memtool::ToUtf8(text + "]")).release();
  });
}

struct ArrowArrayStream* memtool_stream(const memtool_outcome* outcome) {
  return Guarded([&]() -> ArrowArrayStream* {
    const auto& table = memtool::c::Whole(outcome).shared_table;
    if (!table) {
      return nullptr;
    }
    auto stream = std::make_unique<ArrowArrayStream>();
    memtool::c::ExportStream(table, stream.get());
    return stream.release();
  });
}

void memtool_stream_free(struct ArrowArrayStream* stream) {
  if (stream != nullptr && stream->release != nullptr) {
    stream->release(stream);
  }
  delete stream;
}

void memtool_capsule_free(void* capsule) {
  using GetPointer = void* (*)(void* capsule, const char* name);
  // NOLINTNEXTLINE(cppcoreguidelines-pro-type-reinterpret-cast): what dlsym gives
  const auto get = reinterpret_cast<GetPointer>(::dlsym(RTLD_DEFAULT, "PyCapsule_GetPointer"));
  if (get != nullptr) {
    memtool_stream_free(static_cast<ArrowArrayStream*>(get(capsule, "arrow_array_stream")));
  }
}

const char* memtool_version(void) {
  return MEMTOOL_VERSION;
}

memtool_outcome* memtool_vocabulary(void) {
  return Guarded([]() -> memtool_outcome* {
    return memtool::c::OutcomeOf(memtool::c::VocabularyJson()).release();
  });
}

memtool_outcome* memtool_show(const char* bytes, size_t size, size_t width) {
  return Guarded([&]() -> memtool_outcome* {
    std::string shown = memtool::commands::Shorten(memtool::EscapeText({bytes, size}), width);
    const std::size_t cells = memtool::commands::DisplayWidth(shown);
    auto outcome = memtool::c::OutcomeOf(std::move(shown));
    outcome->code = static_cast<int>(cells);
    return outcome.release();
  });
}

int memtool_main(int argc, const char* const* argv, const char* folder) {
  return memtool::commands::Program(argc, argv, folder == nullptr ? "" : folder);
}

}  // extern "C"
// NOLINTEND(cppcoreguidelines-owning-memory)
