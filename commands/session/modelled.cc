#include "session/modelled.h"

#include <fmt/format.h>

#include <functional>
#include <string>
#include <string_view>
#include <utility>

#include "memtool/profile/advise/recorded.h"
#include "memtool/profile/replay/history_index.h"
#include "memtool/profile/whatif/recorded.h"
#include "words/refusals.h"

namespace memtool::commands {

namespace {

using Shared = std::shared_ptr<const Recording>;

// `how`: for people, "segments modelled under …".
Result<Shared> Make(std::string_view option, const std::string& how, const Shared& recording,
                    const std::function<Result<Recording>(const HistoryIndex&)>& make) {
  const std::string display = recording->metadata.format_display;
  if (!recording->history) {
    return Fail(ErrorCode::kUnsupported,
                fmt::format("{}: {} does not record what was requested and when", option,
                            WithArticle(display)),
                "PyTorch snapshots with a history do: see memtool help recording");
  }
  auto made = make(HistoryIndex(recording));
  if (!made) {
    made.error().message = fmt::format("{}: {}", option, made.error().message);
    return Fail(std::move(made.error()));
  }
  made->metadata.format_display = fmt::format("{}, {}", display, how);
  return std::make_shared<const Recording>(*std::move(made));
}

}  // namespace

Result<Shared> Modelled(const InputOptions& inputs, Shared recording) {
  if (const auto& edits = inputs.change()) {
    auto made = Make(
        "--change", "of the program changed by " + advise::ToText(*edits), recording,
        [&edits](const HistoryIndex& index) { return advise::RecordedChanged(index, *edits); });
    MEMTOOL_TRY(made);
    recording = *std::move(made);
  }
  if (const auto& conf = inputs.conf()) {
    const std::string text = whatif::ConfText(*conf);
    return Make("--conf", "segments modelled under " + (text.empty() ? "PyTorch's defaults" : text),
                recording,
                [&conf](const HistoryIndex& index) { return whatif::RecordedUnder(index, *conf); });
  }
  return recording;
}

}  // namespace memtool::commands
