// Top-level fields of a profile.proto, in any order, into tables of the file's own ids; Finish()
// resolves them into a Recording once everything is known.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "memtool/formats/limits.h"
#include "memtool/profile/base/row_vector.h"
#include "memtool/profile/model/recording_builder.h"
#include "pprof/id_map.h"
#include "pprof/sample_columns.h"
#include "support/wire.h"

namespace memtool::formats::pprof {

class Decoder {
 public:
  explicit Decoder(const Limits& limits) : limits_(limits) {}

  // Notes the number of the top-level field that is about to be read, for errors; 0 = not known.
  void Begin(std::uint64_t number) { number_ = number; }
  // Takes a top-level field, after Begin() with its number.
  void Field(const wire::Field& field);
  // Likewise one of field `sample`: nearly all there are. In registers: a ByteCursor is passed in
  // memory, where loading it stalls on the stores just made.
  void Sample(std::span<const std::byte> message, std::uint64_t offset);
  // Samples keep spans into the window; call this before it moves.
  void BeforeBytesMove() { samples_.Flush(); }
  // Adds the record that was being read ("sample[12]") to an error from deeper down.
  [[nodiscard]] Error WithRecord(Error error) const;
  Result<Recording> Finish() &&;

 private:
  // String references are wire indices until Finish().
  struct WireValueType {
    std::uint64_t type = 0;
    std::uint64_t unit = 0;
  };
  struct WireMapping {
    Mapping mapping;
    std::uint64_t filename = 0;
    std::uint64_t build_id = 0;
  };
  struct WireFunction {
    std::uint64_t name = 0;
    std::uint64_t system_name = 0;
    std::uint64_t filename = 0;
    std::int64_t start_line = 0;
  };
  struct WireLine {
    std::uint64_t function = 0;
    std::int64_t line = 0;
    std::int64_t column = 0;
  };
  struct WireLocation {
    std::uint64_t mapping = 0;
    std::uint64_t address = 0;
    std::uint32_t first_line = 0;
    std::uint32_t line_count = 0;
    bool folded = false;
  };

  void Scalar(const wire::Field& field);
  void AddMapping(ByteCursor message);
  void AddLocation(ByteCursor message);
  void AddLine(ByteCursor message);
  void AddFunction(ByteCursor message);
  void AddString(const wire::Field& field);
  void AddComments(const wire::Field& field);
  static WireValueType ValueType(ByteCursor message);

  // Finish(), step by step (resolve.cc).
  [[nodiscard]] StringId Text(std::uint64_t index, const char* field, std::size_t row) const;
  void ResolveMetadata();
  std::vector<SampleType> ResolveTypes();
  void ResolveMappings();
  void ResolveFunctions();
  void ResolveLocations();
  void ResolveStacks();
  std::vector<LabelSetId> ResolveLabelSets();
  LabelSetId ResolveLabelSet(std::span<const std::byte> bytes, std::vector<Label>& labels);
  [[nodiscard]] std::string JaxProcess() const;
  [[nodiscard]] bool OfTpus() const;
  [[nodiscard]] std::optional<std::vector<char>> JaxExecutables(
      const std::vector<LabelSetId>& label_sets) const;
  void NoteJax(const std::vector<LabelSetId>& label_sets);

  Limits limits_;
  RecordingBuilder builder_;
  std::uint64_t number_ = 0;  // of the field that is being read, for errors

  std::vector<WireValueType> types_;
  SampleColumns samples_;
  std::vector<WireMapping> mappings_;
  std::vector<std::uint64_t> mapping_ids_;
  std::vector<WireLocation> locations_;
  std::vector<std::uint64_t> location_ids_;
  std::vector<WireLine> lines_;
  std::vector<WireFunction> functions_;
  std::vector<std::uint64_t> function_ids_;
  // Wire index → id. Never held twice: a table of empty strings costs an input next to nothing.
  RowVector<StringId> strings_;

  std::uint64_t unknown_mappings_ = 0;
  IdMap mapping_rows_;
  IdMap location_rows_;
  IdMap function_rows_;

  WireValueType period_type_;
  std::uint64_t drop_frames_ = 0;
  std::uint64_t keep_frames_ = 0;
  std::uint64_t default_type_ = 0;
  std::uint64_t doc_url_ = 0;
  RowVector<std::uint64_t> comments_;
};

}  // namespace memtool::formats::pprof
