// What the records of a capture log define, by id: mappings, frames, Python code, stacks, attribute
// sets. Ids come from the file: a table holds what was defined and nothing else, whatever an id
// claims.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "../../../capture/wire.h"
#include "memtool/profile/base/key_hash.h"

namespace memtool::formats::capture_log {

// Dense for ids that count up, sparse for the rest (after a lost chunk, or in a hostile file).
template <class T>
class IdTable {
 public:
  // False when the id was defined before: the first definition counts.
  bool Define(std::uint64_t id, T value) {
    if (Find(id) != nullptr) {
      return false;
    }
    if (id == dense_.size() + 1) {
      dense_.push_back(std::move(value));
    } else {
      sparse_.emplace(id, std::move(value));
    }
    return true;
  }
  [[nodiscard]] const T* Find(std::uint64_t id) const {
    if (id - 1 < dense_.size()) {
      return &dense_[id - 1];
    }
    const auto found = sparse_.find(id);
    return found == sparse_.end() ? nullptr : &found->second;
  }

 private:
  std::vector<T> dense_;
  KeyMap<std::uint64_t, T> sparse_;
};

struct MappingRow {
  std::uint64_t start = 0;
  std::uint64_t size = 0;
  std::uint64_t file_offset = 0;
  std::uint64_t bias = 0;
  std::string path;
  std::string build_id;  // raw bytes
};

struct FrameRow {
  std::uint64_t parent = 0;
  std::uint64_t address = 0;
  std::uint64_t mapping = 0;  // the one that held the address when the frame was defined; 0 = none
};

struct CodeRow {
  std::uint64_t version = 0;
  std::int64_t first_line = 0;
  std::string name;
  std::string file;
  std::string lines;
};

struct PyFrameRow {
  std::uint64_t parent = 0;
  std::uint64_t code = 0;
  std::uint64_t position = 0;  // offset of the instruction + 1; 0 = not started
  bool entry = false;
};

struct StackRow {
  std::uint64_t native = 0;
  std::uint64_t python = 0;
};

struct ThreadRow {
  std::uint64_t tid = 0;
  std::string name;
};

struct DomainRow {
  wire::Space space = wire::Space::kDevicePointer;
  wire::Kind kind = wire::Kind::kDevice;
  wire::Level level = wire::Level::kDriver;
  std::int32_t device = -1;
  std::string name;
};

struct AttributesRow {
  std::uint64_t thread = 0;
  std::uint64_t domain = 0;
  std::uint64_t context = 0;
  std::uint64_t stream = 0;
  std::uint64_t pool = 0;
  std::uint64_t tag = 0;
};

struct Definitions {
  IdTable<MappingRow> mappings;
  IdTable<FrameRow> frames;
  IdTable<CodeRow> codes;
  IdTable<PyFrameRow> py_frames;
  IdTable<StackRow> stacks;
  IdTable<ThreadRow> threads;
  IdTable<DomainRow> domains;
  IdTable<AttributesRow> attribute_sets;
  IdTable<std::string> tags;
};

}  // namespace memtool::formats::capture_log
