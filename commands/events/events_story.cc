#include "events/events_story.h"

#include <fmt/format.h>

#include "events/events_words.h"
#include "memtool/profile/base/sizes.h"

namespace memtool::commands {

namespace {

std::string WhoText(const StackName& who) {
  return FrameText(who.name, who.file, who.line);
}

std::string EndText(const BlockStory::End& end, std::int64_t zero) {
  const std::string when = SinceText(end.time, zero);
  return fmt::format("event {}{}", FormatCount(end.event), when.empty() ? "" : ", " + when);
}

// No event is about it.
std::string AbsentText(const BlockStory& story) {
  if (story.at_end) {
    return fmt::format("{}: {}, no event is about it; it lives at the end of the file; by {}",
                       ToString(story.id), FormatSize(story.at_end->requested),
                       WhoText(*story.at_end->who));
  }
  return fmt::format("{}: no event chosen is about it; frees at this address number {} in the file",
                     ToString(story.id), FormatCount(static_cast<std::int64_t>(story.gone)));
}

}  // namespace

std::string StoryText(const BlockStory& story, std::int64_t zero) {
  if (!story.size) {
    return AbsentText(story);
  }
  std::string text = ToString(story.id) + ": " + FormatSize(*story.size);
  text += story.begin
              ? " allocated at " + EndText(*story.begin, zero) + " by " + WhoText(*story.begin->who)
              : " allocated before the events shown";
  if (!story.end) {
    return text + "; not freed in them";
  }
  text += "; freed at " + EndText(*story.end, zero);
  return story.lived_events ? text + "; lived " + LivedText(*story.lived_events, story.lived_nanos)
                            : text;
}

}  // namespace memtool::commands
