#include "log/log_lines.h"

#include <algorithm>

#include "log/line_time.h"
#include "support/byte_cursor.h"

namespace memtool::formats::log {

namespace {

constexpr std::size_t kStep = std::size_t{256} << 10U;   // bytes read at a time
constexpr std::size_t kMaxLine = std::size_t{1} << 20U;  // a longer line comes in pieces
constexpr std::uint64_t kLongTraceback = 200;            // lines, which tell no time

std::uint64_t CountLines(std::string_view text) {
  std::uint64_t lines = 0;
  for (std::size_t at = text.find('\n'); at != std::string_view::npos;
       at = text.find('\n', at + 1)) {
    ++lines;
  }
  return lines;
}

class Reading {
 public:
  Reading(const WordFilter& words, LogSink& sink) : words_(words), sink_(sink) {}

  // Whole lines.
  void TakeBlock(std::string_view block) {
    searched_ = 0;
    for (std::size_t at = 0; at < block.size();) {
      if (!all_ && !sink_.WantsNext()) {
        const std::size_t hit = words_.Find(block, at);
        const std::size_t begin = hit == std::string_view::npos ? block.size()
                                  : hit == at                   ? at
                                              : std::max(at, block.rfind('\n', hit - 1) + 1);
        number_ += CountLines(block.substr(at, begin - at));
        at = begin;
        if (at == block.size()) {
          break;
        }
      }
      const std::size_t end = std::min(block.find('\n', at), block.size());
      TakeLine(block, at, end);
      ++number_;
      at = end + 1;
    }
    LookForTime(block, block.size());
  }

  // The rest of a line that has no end yet: all of it, or as much as a piece takes. Returns how
  // much was taken.
  std::size_t TakeOpen(std::string_view open, bool last) {
    searched_ = 0;
    if (last) {
      TakeLine(open, 0, open.size());
      return open.size();
    }
    const std::size_t state = open.rfind('\r');
    if (state != std::string_view::npos) {
      TakeStates(open, 0, open.substr(0, state));
      return state + 1;
    }
    Pass(open, 0, open, open.size() - kLineOverlap);
    return open.size() - kLineOverlap;
  }

  void TakeAll() { all_ = true; }
  [[nodiscard]] std::uint64_t number() const { return number_; }

 private:
  void TakeLine(std::string_view block, std::size_t begin, std::size_t end) {
    TakeStates(block, begin, block.substr(begin, end - begin));
  }

  // A progress bar rewrites its line: each state is looked at, under the line's number.
  void TakeStates(std::string_view block, std::size_t begin, std::string_view line) {
    while (!line.empty()) {
      const std::size_t end = std::min(line.find('\r'), line.size());
      if (end > 0) {
        Pass(block, begin, line.substr(0, end), std::string_view::npos);
      }
      line.remove_prefix(std::min(end + 1, line.size()));
    }
  }

  void Pass(std::string_view block, std::size_t begin, std::string_view line, std::size_t until) {
    LookForTime(block, begin);
    if (const auto own = GetTime(line)) {
      time_ = own;
      time_line_ = number_;
    }
    std::string_view previous = block.substr(0, begin);
    previous.remove_suffix(previous.empty() ? 0 : 1);
    previous.remove_prefix(std::min(previous.rfind('\n') + 1, previous.size()));
    sink_.Take({.text = line,
                .number = number_,
                .until = until,
                .previous = previous,
                .time = time_ && number_ - time_line_ <= kLongTraceback ? time_ : std::nullopt});
  }

  // The last time in what was stepped over before `end`.
  void LookForTime(std::string_view block, std::size_t end) {
    std::string_view skipped = block.substr(searched_, end - searched_);
    searched_ = end;
    for (std::uint64_t back = 1; !skipped.empty() && back <= kLongTraceback; ++back) {
      skipped.remove_suffix(skipped.back() == '\n' ? 1 : 0);
      const std::size_t begin = skipped.rfind('\n') + 1;
      if (const auto time = GetTime(skipped.substr(begin))) {
        time_ = time;
        time_line_ = number_ >= back ? number_ - back : 0;
        return;
      }
      skipped.remove_suffix(skipped.size() - begin);
    }
  }

  const WordFilter& words_;
  LogSink& sink_;
  bool all_ = false;
  std::uint64_t number_ = 1;
  std::size_t searched_ = 0;          // of the block, for times
  std::optional<std::int64_t> time_;  // of the last line that had one,
  std::uint64_t time_line_ = 0;       // and which that was
};

}  // namespace

std::uint64_t ReadLines(ByteWindow& in, const WordFilter& words, LogSink& sink, std::string* text) {
  Reading reading(words, sink);
  const auto advance = [&in, &text](std::string_view hand) {
    if (text != nullptr && text->size() + hand.size() > kMaxKeptLog) {
      text->clear();
      text = nullptr;
    } else if (text != nullptr) {
      text->append(hand);
    }
    in.Advance(hand.size());
  };
  for (std::size_t left = 0;;) {
    const std::string_view hand = AsText(in.Fill(left + kStep));
    const bool last = hand.size() < left + kStep;
    if (hand.substr(0, kStep).find('\0') != std::string_view::npos) {
      reading.TakeAll();  // UTF-16: no words in one piece
    }
    const std::size_t end = hand.rfind('\n');
    std::size_t given = end == std::string_view::npos ? 0 : end + 1;
    if (given > 0) {
      reading.TakeBlock(hand.substr(0, given));
    }
    const std::string_view open = hand.substr(given);
    if (last) {
      reading.TakeOpen(open, true);
      advance(hand);
      return reading.number() - (open.empty() ? 1 : 0);
    }
    if (open.size() >= kMaxLine) {
      given += reading.TakeOpen(open, false);
    }
    left = hand.size() - given;
    advance(hand.substr(0, given));
  }
}

}  // namespace memtool::formats::log
