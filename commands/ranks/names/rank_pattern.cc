#include "ranks/names/rank_pattern.h"

#include <fmt/format.h>
#include <re2/re2.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <optional>

#include "ranks/names/path_words.h"

namespace memtool::commands {

namespace {

struct GroupName {
  std::string_view name;
  IdentityField field;
};

constexpr std::array kGroups{
    GroupName{"rank", IdentityField::kRank},       GroupName{"local", IdentityField::kLocalRank},
    GroupName{"node", IdentityField::kNode},       GroupName{"step", IdentityField::kStep},
    GroupName{"attempt", IdentityField::kAttempt}, GroupName{"pid", IdentityField::kPid},
    GroupName{"world", IdentityField::kWorld},     GroupName{"host", IdentityField::kHost},
    GroupName{"job", IdentityField::kJob},         GroupName{"role", IdentityField::kRole}};
constexpr std::string_view kKnown = "rank, local, node, step, attempt, pid, world, host, job, role";

bool NameProcesses(IdentityField field) {
  return field == IdentityField::kRank || field == IdentityField::kLocalRank ||
         field == IdentityField::kNode || field == IdentityField::kPid ||
         field == IdentityField::kHost;
}

void TakeText(RankIdentity& identity, IdentityField field, std::string_view text) {
  (field == IdentityField::kHost  ? identity.host
   : field == IdentityField::kJob ? identity.job
                                  : identity.role) = text;
}

}  // namespace

RankPattern::RankPattern(std::shared_ptr<const re2::RE2> regex, std::vector<Group> groups)
    : regex_(std::move(regex)), groups_(std::move(groups)) {}

Result<RankPattern> RankPattern::Compile(const std::string& text) {
  auto regex = std::make_shared<const RE2>(text, RE2::Quiet);
  if (!regex->ok()) {
    return Fail(ErrorCode::kUsage,
                fmt::format("'{}' is not a regular expression: {}", text, regex->error()));
  }
  const std::string hint = "a named group is written (?P<rank>[0-9]+)";
  std::vector<Group> groups;
  for (const auto& named : regex->NamedCapturingGroups()) {
    const std::string& name = named.first;
    const auto* const at = std::find_if(kGroups.begin(), kGroups.end(),
                                        [&](const GroupName& group) { return group.name == name; });
    if (at == kGroups.end()) {
      return Fail(ErrorCode::kUsage,
                  fmt::format("the group '{}' of '{}' is none of {}", name, text, kKnown));
    }
    groups.emplace_back(named.second, at->field);
  }
  if (groups.empty()) {
    return Fail(ErrorCode::kUsage, fmt::format("'{}' has no named group", text), hint);
  }
  const bool is_known = std::any_of(groups.begin(), groups.end(),
                                    [](const Group& group) { return NameProcesses(group.second); });
  if (!is_known) {
    return Fail(ErrorCode::kUsage,
                fmt::format("no group of '{}' tells processes apart: rank, local, node, host or "
                            "pid has to be among them",
                            text),
                hint);
  }
  std::sort(groups.begin(), groups.end());
  return RankPattern(std::move(regex), std::move(groups));
}

Result<RankIdentity> RankPattern::Of(std::string_view path) const {
  std::vector<re2::StringPiece> parts(static_cast<std::size_t>(regex_->NumberOfCapturingGroups()) +
                                      1);
  RankIdentity identity;
  if (!regex_->Match({path.data(), path.size()}, 0, path.size(), RE2::UNANCHORED, parts.data(),
                     static_cast<int>(parts.size()))) {
    return identity;
  }
  for (const auto& [number, field] : groups_) {
    const re2::StringPiece& part = parts[static_cast<std::size_t>(number)];
    const std::string_view text(part.data(), part.size());
    if (text.empty()) {
      continue;
    }
    std::optional<std::int64_t>* const place = identity.Number(field);
    if (place == nullptr) {
      TakeText(identity, field, text);
      continue;
    }
    *place = text.find_first_not_of("0123456789") == std::string_view::npos ? ToNumber(text, 19)
                                                                            : std::nullopt;
    if (!place->has_value()) {
      return Fail(
          ErrorCode::kUsage,
          fmt::format("the group '{}' of '{}' matches '{}' in '{}', which is no number",
                      regex_->CapturingGroupNames().at(number), regex_->pattern(), text, path));
    }
  }
  identity.how = NamesProcess(identity) ? IdentityHow::kUser : IdentityHow::kNone;
  return identity;
}

}  // namespace memtool::commands
