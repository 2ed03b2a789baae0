#include "arrow.h"

#include <array>
#include <cerrno>
#include <string>
#include <type_traits>
#include <utility>

#include "memtool/profile/answers/write.h"
#include "memtool/profile/base/escape.h"

namespace memtool::c {

namespace {

constexpr std::int64_t kNullable = 2;  // ARROW_FLAG_NULLABLE

// What an ArrowSchema or ArrowArray owns besides its own fields.
template <class Structure>
struct Owned {
  std::vector<std::unique_ptr<Structure>> children;
  std::vector<Structure*> pointers;  // to children
  std::unique_ptr<Structure> dictionary;
};

// `All`: what the structure's private_data is.
template <class All, class Structure>
void Release(Structure* structure) {
  const std::unique_ptr<All> owned(static_cast<All*>(structure->private_data));
  for (const auto& child : owned->children) {
    if (child->release != nullptr) {
      child->release(child.get());
    }
  }
  if (owned->dictionary && owned->dictionary->release != nullptr) {
    owned->dictionary->release(owned->dictionary.get());
  }
  structure->release = nullptr;
}

// --- schemas ---

struct OwnedSchema : Owned<ArrowSchema> {
  std::string format;
  std::string name;
};

void FillSchema(std::unique_ptr<OwnedSchema> owned, std::int64_t flags, ArrowSchema* out) {
  for (const auto& child : owned->children) {
    owned->pointers.push_back(child.get());
  }
  *out = {.format = owned->format.c_str(),
          .name = owned->name.c_str(),
          .metadata = nullptr,
          .flags = flags,
          .n_children = static_cast<std::int64_t>(owned->children.size()),
          .children = owned->pointers.data(),
          .dictionary = owned->dictionary.get(),
          .release = Release<OwnedSchema>,
          .private_data = nullptr};
  out->private_data = owned.release();
}

struct FormatVisitor {
  std::string operator()(const std::vector<std::int64_t>& /*values*/) const { return "l"; }
  std::string operator()(const std::vector<std::int32_t>& /*values*/) const { return "i"; }
  std::string operator()(const std::vector<std::uint64_t>& /*values*/) const { return "L"; }
  std::string operator()(const std::vector<double>& /*values*/) const { return "g"; }
  std::string operator()(const AnswerColumn::Truths& /*values*/) const { return "b"; }
  std::string operator()(const std::vector<Value>& /*values*/) const { return "U"; }
  std::string operator()(const Categories& categories) const {
    constexpr std::array<const char*, 3> kWidths{"c", "s", "i"};
    return kWidths.at(categories.codes.index());
  }
};

std::unique_ptr<ArrowSchema> ToSchema(const TableColumn& column) {
  auto owned = std::make_unique<OwnedSchema>();
  owned->format = std::visit(FormatVisitor{}, column.data);
  owned->name = column.key;
  if (std::holds_alternative<Categories>(column.data)) {
    auto words = std::make_unique<OwnedSchema>();
    words->format = "U";
    owned->dictionary = std::make_unique<ArrowSchema>();
    FillSchema(std::move(words), 0, owned->dictionary.get());
  }
  auto schema = std::make_unique<ArrowSchema>();
  FillSchema(std::move(owned), kNullable, schema.get());
  return schema;
}

void ToSchema(const Table& table, ArrowSchema* out) {
  auto owned = std::make_unique<OwnedSchema>();
  owned->format = "+s";
  for (const TableColumn& column : table.columns) {
    owned->children.push_back(ToSchema(column));
  }
  FillSchema(std::move(owned), 0, out);
}

// --- arrays ---

struct OwnedArray : Owned<ArrowArray> {
  std::shared_ptr<const Table> table;  // where the numbers are
  std::vector<std::uint8_t> bits;      // a bit per row that is not missing; empty = nothing is
  std::vector<std::uint8_t> truths;    // a bit per row that is true
  Strings strings;                     // of lists and objects
  std::vector<const void*> buffers;
  std::int64_t nulls = 0;
};

void FillArray(std::unique_ptr<OwnedArray> owned, std::size_t rows, ArrowArray* out) {
  for (const auto& child : owned->children) {
    owned->pointers.push_back(child.get());
  }
  *out = {.length = static_cast<std::int64_t>(rows),
          .null_count = owned->nulls,
          .offset = 0,
          .n_buffers = static_cast<std::int64_t>(owned->buffers.size()),
          .n_children = static_cast<std::int64_t>(owned->children.size()),
          .buffers = owned->buffers.data(),
          .children = owned->pointers.data(),
          .dictionary = owned->dictionary.get(),
          .release = Release<OwnedArray>,
          .private_data = nullptr};
  out->private_data = owned.release();
}

// A bit per row for which `is` holds, the first in the lowest bit.
template <class Is>
std::vector<std::uint8_t> BitsWhere(std::size_t rows, Is is) {
  std::vector<std::uint8_t> bits((rows + 7) / 8, 0);
  for (std::size_t row = 0; row < rows; ++row) {
    if (is(row)) {
      bits[row / 8] = static_cast<std::uint8_t>(bits[row / 8] | (1U << (row % 8)));
    }
  }
  return bits;
}

template <class IsMissing>
void PutMissing(std::size_t rows, IsMissing is_missing, OwnedArray& owned) {
  for (std::size_t row = 0; row < rows; ++row) {
    owned.nulls += is_missing(row) ? 1 : 0;
  }
  if (owned.nulls > 0) {
    owned.bits = BitsWhere(rows, [&](std::size_t row) { return !is_missing(row); });
  }
  owned.buffers.push_back(owned.bits.empty() ? nullptr : owned.bits.data());
}

void PutStrings(const Strings& strings, OwnedArray& owned) {
  owned.buffers.push_back(strings.ends.data());
  owned.buffers.push_back(strings.bytes.data());
}

std::unique_ptr<ArrowArray> ToWords(const std::shared_ptr<const Table>& table,
                                    const Strings& words) {
  auto owned = std::make_unique<OwnedArray>();
  owned->table = table;
  owned->buffers.push_back(nullptr);
  PutStrings(words, *owned);
  auto array = std::make_unique<ArrowArray>();
  FillArray(std::move(owned), words.size(), array.get());
  return array;
}

// Puts the buffers of a column into `owned`.
struct PutData {
  const TableColumn& column;
  std::size_t rows;
  OwnedArray& owned;

  void Missing() const {
    PutMissing(
        rows,
        [this](std::size_t row) { return !column.missing.empty() && column.missing[row] != 0; },
        owned);
  }
  template <class Number>
  void operator()(const std::vector<Number>& values) const {
    Missing();
    owned.buffers.push_back(values.data());
  }
  void operator()(const AnswerColumn::Truths& truths) const {
    Missing();
    owned.truths = BitsWhere(rows, [&](std::size_t row) { return truths.values[row] != 0; });
    owned.buffers.push_back(owned.truths.data());
  }
  void operator()(const Categories& categories) const {
    std::visit(
        [this](const auto& codes) {
          PutMissing(
              rows, [&codes](std::size_t row) { return codes[row] < 0; }, owned);
          owned.buffers.push_back(codes.data());
        },
        categories.codes);
    owned.dictionary = ToWords(owned.table, categories.words);
  }
  void operator()(const std::vector<Value>& values) const {
    PutMissing(
        rows, [&values](std::size_t row) { return values[row].is_null(); }, owned);
    for (const Value& value : values) {
      owned.strings.Add(value.is_null() ? std::string() : ToUtf8(ToJson(value)));
    }
    PutStrings(owned.strings, owned);
  }
};

std::unique_ptr<ArrowArray> ToArray(const std::shared_ptr<const Table>& table,
                                    const TableColumn& column) {
  auto owned = std::make_unique<OwnedArray>();
  owned->table = table;
  std::visit(PutData{column, table->rows, *owned}, column.data);
  auto array = std::make_unique<ArrowArray>();
  FillArray(std::move(owned), table->rows, array.get());
  return array;
}

void ToArray(const std::shared_ptr<const Table>& table, ArrowArray* out) {
  auto owned = std::make_unique<OwnedArray>();
  for (const TableColumn& column : table->columns) {
    owned->children.push_back(ToArray(table, column));
  }
  owned->buffers.push_back(nullptr);
  FillArray(std::move(owned), table->rows, out);
}

// --- the stream ---

struct OwnedStream {
  std::shared_ptr<const Table> table;
  bool given = false;
};

OwnedStream& StreamOf(ArrowArrayStream* stream) {
  return *static_cast<OwnedStream*>(stream->private_data);
}

// `make` must not throw into a consumer that may be written in C.
template <class Make>
int Guarded(Make make) {
  try {
    make();
    return 0;
  } catch (...) {
    return ENOMEM;
  }
}

int GetSchema(ArrowArrayStream* stream, ArrowSchema* out) {
  return Guarded([&] { ToSchema(*StreamOf(stream).table, out); });
}

int GetNext(ArrowArrayStream* stream, ArrowArray* out) {
  OwnedStream& owned = StreamOf(stream);
  if (std::exchange(owned.given, true)) {
    *out = {};
    return 0;
  }
  return Guarded([&] { ToArray(owned.table, out); });
}

const char* GetLastError(ArrowArrayStream* /*stream*/) {
  return "out of memory";
}

void ReleaseStream(ArrowArrayStream* stream) {
  delete static_cast<OwnedStream*>(stream->private_data);
  stream->release = nullptr;
}

}  // namespace

void ExportStream(std::shared_ptr<const Table> table, ArrowArrayStream* out) {
  *out = {.get_schema = GetSchema,
          .get_next = GetNext,
          .get_last_error = GetLastError,
          .release = ReleaseStream,
          .private_data = new OwnedStream{std::move(table)}};
}

}  // namespace memtool::c
