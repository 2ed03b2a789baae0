#include "overview/asked.h"

#include <algorithm>
#include <cstdint>
#include <utility>

#include "output/sink.h"

namespace memtool::commands {

namespace {

// As wide as the terminal that the text goes to in the end.
class WideSink final : public Sink {
 public:
  explicit WideSink(unsigned width) : width_(width) {}
  void WriteBytes(std::string_view bytes) override { text_ += bytes; }
  Result<void> Flush() override { return {}; }
  void Discard() override { text_.clear(); }
  [[nodiscard]] unsigned TerminalWidth() const override { return width_; }
  [[nodiscard]] std::string Take() && { return std::move(text_); }

 private:
  unsigned width_;
  std::string text_;
};

}  // namespace

Reply Asker::Run(std::vector<std::string> words, const TakeAnswer& take, unsigned width) {
  words.insert(words.end(), inputs_.begin(), inputs_.end());
  WideSink out(width);
  StringSink err;
  Streams streams{out, err, {}, &cache_};
  streams.settings = settings_;
  streams.names_next = words.front() == "oom";  // of a log, its text is the whole screen
  bool taken = false;
  if (take) {
    streams.on_answer = [&](const AnswerView& answer, std::size_t limit) {
      taken = true;
      take(answer, limit);
    };
  }
  Reply reply;
  reply.code = static_cast<ExitCode>(RunMain(words, streams));
  reply.text = std::move(out).Take();
  reply.notes = err.text();
  reply.error = std::move(streams.error);
  // Without memory a command ends without an error to hand on.
  const bool stopped = reply.code == ExitCode::kInternal ||
                       (reply.code == ExitCode::kInput && !taken && reply.text.empty() &&
                        (!reply.error || reply.error->code == ErrorCode::kLimit));
  if (stopped && !stopped_) {
    stopped_ = reply;
  }
  return reply;
}

Value ToValue(const AnswerView& answer, std::size_t limit) {
  Value::Object object;
  for (const auto& [key, value] : answer.figures) {
    object.emplace_back(std::string(key), value);
  }
  Value::List rows;
  for (const auto next = answer.rows(limit); const AnswerView::Values* row = next();) {
    Value::Object members;
    for (std::size_t i = 0; i < answer.fields.size(); ++i) {
      members.emplace_back(std::string(answer.fields[i].key), (*row)[i]);
    }
    rows.emplace_back(std::move(members));
  }
  object.emplace_back("rows", std::move(rows));
  return object;
}

}  // namespace memtool::commands
