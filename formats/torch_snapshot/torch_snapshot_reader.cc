#include "torch_snapshot/torch_snapshot_reader.h"

#include <fmt/format.h>

#include <span>
#include <string>

#include "memtool/formats/byte_window.h"
#include "memtool/formats/source.h"
#include "support/pickle/pickle_machine.h"
#include "support/read_error.h"
#include "torch_snapshot/json_form.h"
#include "torch_snapshot/pages/html_source.h"
#include "torch_snapshot/pages/plot_page.h"
#include "torch_snapshot/snapshot_builder.h"

namespace memtool::formats {

namespace {

using torch_snapshot::SnapshotBuilder;

constexpr std::byte kPickle{0x80};

// Reads to the end of the input; zeros may follow a pickle (pages pad with them).
void Drain(ByteWindow& in, SnapshotBuilder& builder) {
  const std::uint64_t end = in.offset();
  bool noted = false;
  while (!in.AtEnd()) {
    const auto bytes = in.buffered();
    if (!noted && AsText(bytes).find_first_not_of(std::string_view("\0 \t\r\n", 5)) !=
                      std::string_view::npos) {
      builder.context().notes.Add(Severity::kWarning, "bytes_after_end",
                                  bytes[0] == kPickle
                                      ? "a second pickle follows the first; it was not read"
                                      : "bytes follow the end of the snapshot; they were not read",
                                  end);
      noted = true;
    }
    in.Advance(bytes.size());
  }
}

Result<Recording> ReadPickle(ByteWindow& in, const Limits& limits, const std::string& inside) {
  const auto head = in.Fill(2);
  const int protocol = head.size() > 1 ? static_cast<int>(head[1]) : 0;
  SnapshotBuilder builder(limits, fmt::format("pickle protocol {}{}", protocol, inside));
  PickleMachine machine(in, builder, limits);
  const Value root = machine.Run();
  const std::uint64_t end = in.offset();
  Drain(in, builder);
  return builder.Finish(root, end);
}

Result<Recording> ReadJson(ByteWindow& in, const Limits& limits, const std::string& inside) {
  SnapshotBuilder builder(limits, "JSON" + inside);
  const Value root = torch_snapshot::ReadJson(in, builder, limits);
  const std::uint64_t end = in.offset();
  Drain(in, builder);
  return builder.Finish(root, end);
}

Result<Recording> ReadPlain(ByteWindow& in, const Limits& limits, const std::string& inside) {
  const auto head = in.Fill(1);
  if (head.empty()) {
    ThrowRead(ErrorCode::kTruncated, in.offset(), {}, "there is nothing in it");
  }
  return head.front() == kPickle ? ReadPickle(in, limits, inside) : ReadJson(in, limits, inside);
}

// Pages as PyTorch writes them begin with an empty line.
void SkipSpace(ByteWindow& in) {
  constexpr std::size_t kMark = 3;
  for (auto text = AsText(in.Fill(kMark)); !text.empty(); text = AsText(in.Fill(kMark))) {
    const std::size_t space = text.size() - AfterSpace(text).size();
    if (space == 0) {
      return;
    }
    in.Advance(space);
  }
}

}  // namespace

Result<Recording> TorchSnapshotReader::Read(ByteWindow& in, const Limits& limits) const {
  SkipSpace(in);
  const auto head = in.Fill(1);
  if (head.empty() || head.front() != std::byte{'<'}) {
    return ReadPlain(in, limits, {});
  }
  constexpr std::size_t kHead = std::size_t{64} << 10U;
  if (torch_snapshot::IsPlotPage(AsText(in.Fill(kHead)))) {
    const std::string pickle = torch_snapshot::ReadPlotPage(in, limits);
    ByteWindow drawn(MakeMemorySource(std::as_bytes(std::span(pickle))));
    return ReadPickle(drawn, limits, ", from a page drawn by PyTorch 2.0");
  }
  torch_snapshot::FindEmbedded(in);
  const std::uint64_t start = in.offset();
  ByteWindow embedded(torch_snapshot::MakeBase64Source(in));
  try {
    auto recording = ReadPlain(embedded, limits, " in HTML");
    in.Skip(limits.unpacked_bytes);
    return recording;
  } catch (const ReadError& error) {
    // Offsets are those of the decoded file.
    Error inside = error.error();
    inside.message +=
        fmt::format(" (in the file that the page holds as base64 from byte {} on)", start);
    throw ReadError(std::move(inside));
  }
}

}  // namespace memtool::formats
