#include "oom_text/tables/tables.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "memtool/profile/base/numbers.h"
#include "oom_text/words/phrases.h"

namespace memtool::formats::oom_text {

namespace {

constexpr std::size_t kMaxOpenTables = 64;  // processes that print tables at a time
constexpr std::size_t kMaxDone = 256;       // tables of a log
constexpr std::size_t kMaxWarned = 1000;    // warnings of the compiler
constexpr std::size_t kMaxPrefix = 200;
constexpr std::size_t kHeadingsWithColon = 9;  // of kTableWords
constexpr int kTablePatience = 500;            // lines of something else within a table

std::string GetShape(std::string_view prefix) {
  std::string shape(prefix);
  std::replace_if(shape.begin(), shape.end(), IsDigit, '0');
  return shape;
}

// Behind what loggers of XLA and TensorFlow write: "2020-05-04 09:05:40.7: E 1578 path/x.cc:76] ".
std::size_t BehindLogger(std::string_view line) {
  const std::string_view head = line.substr(0, kMaxPrefix);
  for (const std::string_view end : {std::string_view(".cc:"), std::string_view(".py:")}) {
    const std::size_t file = head.find(end);
    if (file == std::string_view::npos) {
      continue;
    }
    std::size_t at = file + end.size();
    while (at < head.size() && IsDigit(head[at])) {
      ++at;
    }
    if (at < head.size() && head[at] == ']') {
      return at + 1;
    }
  }
  return 0;
}

std::size_t BehindSpace(std::string_view line, std::size_t at) {
  return std::min(line.find_first_not_of(" \t", at), line.size());
}

// Where a heading begins, wherever it is in the line; npos = there is none.
std::size_t HeadingAt(std::string_view line) {
  constexpr std::string_view kSpace = " \t\r";
  const std::size_t last = line.find_last_not_of(kSpace);
  if (last == std::string_view::npos) {
    return std::string_view::npos;
  }
  std::size_t first = std::string_view::npos;
  const auto look = [&](std::string_view words) {
    first = std::min(first, line.substr(0, kMaxPrefix + words.size()).find(words));
  };
  if (line[last] == ':') {
    std::for_each_n(kTableWords.begin(), kHeadingsWithColon, look);
  }
  look("BFCAllocator dump for");
  look("Current usage from device:");
  look("Bin (");
  return first;
}

// Messages that programs print as one quoted line: "…\nBufferAssignment stats:\n …".
bool IsEscaped(std::string_view line) {
  for (const std::string_view words :
       {std::string_view("\\nBufferAssignment stats:"), std::string_view("\\nPeak buffers:"),
        std::string_view("\\nTotal hbm usage"), std::string_view("\\nProgram hbm requirement")}) {
    if (line.find(words) != std::string_view::npos) {
      return true;
    }
  }
  return false;
}

// "\n" of such a line; "\\n" within a name is one of the name's.
std::size_t NextEscape(std::string_view line, std::size_t from) {
  for (std::size_t at = line.find("\\n", from); at != std::string_view::npos;
       at = line.find("\\n", at + 2)) {
    if (at == 0 || line[at - 1] != '\\') {
      return at;
    }
  }
  return line.size();
}

// What a quoted line writes for a tab or a quote.
std::string Unquoted(std::string_view row) {
  std::string text;
  text.reserve(row.size());
  for (std::size_t at = 0; at < row.size(); ++at) {
    const char next = at + 1 < row.size() ? row[at + 1] : '\0';
    const bool escape = row[at] == '\\' && (next == 't' || next == '"' || next == '\\');
    text.push_back(!escape ? row[at] : next == 't' ? '\t' : next);
    at += escape ? 1 : 0;
  }
  return text;
}

}  // namespace

Tables::Open* Tables::Find(std::string_view process) {
  const auto at = std::find_if(open_.begin(), open_.end(),
                               [process](const Open& open) { return open.process == process; });
  return at == open_.end() ? nullptr : &*at;
}

void Tables::Take(std::string_view line, std::uint64_t number, std::string_view tag,
                  std::string_view process) {
  constexpr std::size_t kShort = 256;  // no line with a whole table in it
  if (line.size() > kShort && IsEscaped(line)) {
    for (std::size_t at = 0; at < line.size();) {
      const std::size_t end = NextEscape(line, at);
      TakeRow(Unquoted(line.substr(at, end - at)), number, {}, process);
      at = end + 2;
    }
    if (Open* open = Find(process)) {
      Close(*open);
    }
    return;
  }
  if (auto remat = RematIn(line)) {
    remat->line = number;
    warned_.push_back({.process = std::string(process), .remat = *remat});
    if (warned_.size() > kMaxWarned) {
      warned_.pop_front();
    }
    return;
  }
  std::size_t begin = std::max(BehindLogger(line), std::min(tag.size(), line.size()));
  const std::size_t heading = HeadingAt(line);
  if (heading != std::string_view::npos) {
    begin = std::max(begin, heading);
  } else if (const Open* open = Find(process)) {
    const std::string_view prefix = open->prefix;
    if (prefix.size() > begin && prefix.size() <= line.size() &&
        GetShape(line.substr(0, prefix.size())) == prefix) {
      begin = prefix.size();
    }
  } else {
    return;
  }
  begin = BehindSpace(line, begin);
  TakeRow(line.substr(begin), number, line.substr(0, begin), process);
}

void Tables::TakeRow(std::string_view row, std::uint64_t number, std::string_view before,
                     std::string_view process) {
  Open* open = Find(process);
  const bool program = ProgramTable::IsHeading(row);
  const bool pool = !program && PoolDump::IsHeading(row);
  if (open == nullptr) {
    if (!program && !pool) {
      return;
    }
    if (open_.size() >= kMaxOpenTables) {
      ++left_out_;
      return;
    }
    open_.push_back({.process = std::string(process)});
    open = &open_.back();
  }
  if (program && (!open->program || open->program->Begins(row))) {
    CloseProgram(*open);
    open->program.emplace();
    open->program_line = number;
    open->prefix = GetShape(before.substr(0, kMaxPrefix));
  } else if (pool && (!open->pool || open->pool->Begins(row))) {
    ClosePool(*open);
    open->pool.emplace();
    open->pool_line = number;
    open->prefix = GetShape(before.substr(0, kMaxPrefix));
  }
  const bool taken =
      (open->program && open->program->Take(row)) || (open->pool && open->pool->Take(row));
  open->idle = taken ? 0 : open->idle + 1;
  if (open->idle > kTablePatience) {
    Close(*open);
  }
}

void Tables::CloseProgram(Open& open) {
  if (!open.program) {
    return;
  }
  if (open.program->HasFigures() && done_.size() < kMaxDone) {
    OomProgram table = std::move(*open.program).Finish();
    table.first_line = open.program_line;
    done_.push_back({.process = open.process,
                     .line = open.program_line,
                     .program = std::make_shared<const OomProgram>(std::move(table)),
                     .pool = {}});
  } else if (open.program->HasFigures()) {
    ++left_out_;
  }
  open.program.reset();
}

void Tables::ClosePool(Open& open) {
  if (!open.pool) {
    return;
  }
  if (open.pool->HasFigures() && done_.size() < kMaxDone) {
    OomPool table = std::move(*open.pool).Finish();
    table.first_line = open.pool_line;
    done_.push_back({.process = open.process,
                     .line = open.pool_line,
                     .program = {},
                     .pool = std::make_shared<const OomPool>(std::move(table))});
  } else if (open.pool->HasFigures()) {
    ++left_out_;
  }
  open.pool.reset();
}

void Tables::Close(Open& open) {
  CloseProgram(open);
  ClosePool(open);
  const std::string process = open.process;
  std::erase_if(open_, [&process](const Open& each) { return each.process == process; });
}

namespace {

bool IsOfXla(const OomMessage& message) {
  switch (message.wording) {
    case OomWording::kXla:
    case OomWording::kXlaHbm:
    case OomWording::kXlaScoped:
    case OomWording::kXlaTpu:
    case OomWording::kTensorFlow:
      return true;
    default:
      return false;
  }
}

void Fill(OomMessage& message) {
  const auto fill = [](std::optional<OomNumber>& to, const std::optional<OomNumber>& from) {
    to = to ? to : from;
  };
  if (message.pool && IsOfPool(message)) {
    message.gpu = message.gpu ? message.gpu : GpuOfAllocator(message.pool->allocator);
    fill(message.limit, message.pool->limit);
    fill(message.allocated, message.pool->in_use);
    fill(message.largest, message.pool->largest_free);
  }
  if (message.program && message.wording == OomWording::kXlaTpu) {
    fill(message.capacity, message.program->capacity);
    fill(message.allocated, message.program->allocated);
    fill(message.largest, message.program->largest_free);
  }
}

// The message before line `line` that a table belongs to, or the next one when an allocator prints
// its table first; null = none.
template <class Lacks>
OomMessage* FindOwner(OomLog& log, std::uint64_t line, std::string_view process,
                      const Lacks& lacks) {
  constexpr std::uint64_t kNext = 12;
  OomMessage* owner = nullptr;
  for (OomMessage& message : log.messages) {
    const bool before = message.line <= line;
    if (!IsOfXla(message) || message.prefix != process || (!before && owner != nullptr) ||
        message.line > line + kNext) {
      continue;
    }
    owner = &message;
  }
  return owner != nullptr && lacks(*owner) ? owner : nullptr;
}

OomMessage& NewMessage(OomLog& log, std::uint64_t line, std::string_view process) {
  auto at = std::find_if(log.messages.begin(), log.messages.end(),
                         [line](const OomMessage& message) { return message.line > line; });
  ++log.found;
  OomMessage made{.wording = OomWording::kXla, .kind = "XLA", .line = line};
  made.prefix = process;
  return *log.messages.insert(at, std::move(made));
}

}  // namespace

void Tables::GiveTo(OomLog& log) && {
  while (!open_.empty()) {
    Close(open_.front());
  }
  std::sort(done_.begin(), done_.end(),
            [](const Done& a, const Done& b) { return a.line < b.line; });
  for (Done& done : done_) {
    const bool program = done.program != nullptr;
    OomMessage* owner =
        FindOwner(log, done.line, done.process, [program](const OomMessage& message) {
          return program ? message.program == nullptr : message.pool == nullptr;
        });
    // Figures of an allocator alone are no failure.
    const bool is_known = program || !done.pool->chunks.empty();
    if (owner == nullptr && !is_known) {
      continue;
    }
    OomMessage& message = owner != nullptr ? *owner : NewMessage(log, done.line, done.process);
    if (program) {
      message.program = std::move(done.program);
    } else {
      message.pool = std::move(done.pool);
    }
    Fill(message);
  }
  GiveWarnings(log);
  log.tables_left_out = left_out_;
}

// To each message the last warning of its process before it.
void Tables::GiveWarnings(OomLog& log) const {
  for (OomMessage& message : log.messages) {
    for (const Warned& warned : warned_) {
      if (IsOfXla(message) && warned.process == message.prefix &&
          warned.remat.line <= message.line) {
        message.remat = warned.remat;
      }
    }
  }
}

}  // namespace memtool::formats::oom_text
