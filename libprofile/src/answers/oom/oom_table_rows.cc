#include "answers/oom/oom_table_rows.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <map>
#include <string>
#include <utility>

#include "memtool/profile/base/arithmetic.h"

namespace memtool {

namespace {

using Number = std::optional<OomNumber>;

bool SameRequest(const OomMessage& one, const OomMessage& other) {
  constexpr std::int64_t kRounding = 512;   // to which allocators round up
  constexpr std::uint64_t kNear = 200'000;  // lines: a dump has one per chunk
  const auto of_xla = [](const OomMessage& message) {
    return IsOfPool(message) || message.wording == OomWording::kXlaTpu;
  };
  if (!of_xla(one) || !of_xla(other) || one.prefix != other.prefix || !one.requested_bytes ||
      !other.requested_bytes || (one.gpu && other.gpu && *one.gpu != *other.gpu)) {
    return false;
  }
  const std::int64_t blur = SaturatingAdd(
      SaturatingAdd(one.requested_bytes->precision, other.requested_bytes->precision), kRounding);
  return Magnitude(SaturatingSubtract(one.requested_bytes->bytes, other.requested_bytes->bytes)) <=
             blur &&
         std::max(one.line, other.line) - std::min(one.line, other.line) <= kNear;
}

template <class Part>
void Fill(Part& to, const Part& from) {
  to = to ? to : from;
}

void AddRest(std::int64_t whole, std::int64_t precision, std::vector<OomRow>& rows) {
  for (const OomRow& row : rows) {
    whole = SaturatingSubtract(whole, row.bytes);
    precision = SaturatingAdd(precision, row.precision);
  }
  if (whole > precision && !rows.empty()) {
    rows.push_back({.kind = OomRow::Kind::kRest, .name = "(not listed)", .bytes = whole});
  }
}

// Of the arguments, where some are listed.
void AddArgumentsRest(const OomNumber& arguments, std::vector<OomRow>& rows) {
  std::vector<OomRow> listed;
  std::copy_if(rows.begin(), rows.end(), std::back_inserter(listed),
               [](const OomRow& row) { return row.argument; });
  const std::size_t count = listed.size();
  AddRest(arguments.bytes, arguments.precision, listed);
  if (listed.size() > count) {
    rows.push_back(std::move(listed.back()));
    rows.back().argument = true;
  }
}

std::vector<OomRow> Buffers(const OomProgram& program) {
  std::vector<OomRow> rows;
  for (const OomBufferGroup& group : MakeGroups(program)) {
    rows.push_back({.kind = OomRow::Kind::kBuffers,
                    .name = group.first->name,
                    .bytes = group.bytes,
                    .precision = group.precision,
                    .file = group.first->file,
                    .line = group.first->line,
                    .count = static_cast<std::size_t>(group.count),
                    .shape = group.first->shape,
                    .argument = group.first->argument});
  }
  // A TPU's list is of its program, without arguments and what is reserved.
  const Number& whole = program.program ? program.program : program.total;
  if (!program.program && program.arguments) {
    AddArgumentsRest(*program.arguments, rows);
  }
  AddRest(whole ? whole->bytes : 0, whole ? whole->precision : 0, rows);
  return rows;
}

// Chunks in use by operation, or, where none is named, by size.
std::vector<OomRow> Chunks(const OomPool& pool) {
  std::map<std::pair<std::string_view, std::int64_t>, std::pair<std::int64_t, std::int64_t>> sums;
  const auto add = [&sums](std::string_view name, std::int64_t size, std::int64_t count) {
    auto& [chunks, bytes] = sums[{name, name.empty() ? size : 0}];
    chunks = SaturatingAdd(chunks, count);
    bytes = SaturatingAdd(bytes, Scaled(size, static_cast<double>(count)));
  };
  for (const OomChunk& chunk : pool.chunks) {
    if (chunk.in_use) {
      add(pool.names[chunk.name], chunk.size, 1);
    }
  }
  if (pool.chunks.empty()) {
    for (const OomSizeClass& one : pool.classes) {
      add(pool.names[one.name], one.size, one.count);
    }
  }
  std::vector<OomRow> rows;
  rows.reserve(sums.size());
  for (const auto& [key, sum] : sums) {
    rows.push_back({.kind = OomRow::Kind::kBuffers,
                    .name = std::string(key.first.empty() ? kUnnamedChunks : key.first),
                    .bytes = sum.second,
                    .count = static_cast<std::size_t>(sum.first)});
  }
  std::stable_sort(rows.begin(), rows.end(),
                   [](const OomRow& a, const OomRow& b) { return a.bytes > b.bytes; });
  return rows;
}

Value MakeFigure(const Number& number) {
  return number ? Value(Value::Object{{"bytes", number->bytes}, {"precision", number->precision}})
                : Value();
}

Value ToText(const std::string& text) {
  return text.empty() ? Value() : Value(text);
}

Value MakeFigure(const OomBuffer& buffer) {
  return Value::Object{{"bytes", buffer.size.bytes},
                       {"precision", buffer.size.precision},
                       {"kind", buffer.argument ? "argument" : "other"},
                       {"name", buffer.name},
                       {"op_name", ToText(buffer.op_name)},
                       {"file", ToText(buffer.file)},
                       {"line", buffer.line > 0 ? Value(buffer.line) : Value()},
                       {"shape", ToText(buffer.shape)},
                       {"instruction", ToText(buffer.instruction)},
                       {"allocation", ToText(buffer.allocation)},
                       {"unpadded", MakeFigure(buffer.unpadded)},
                       {"padding", MakeFigure(buffer.padding)}};
}

Value MakeFigure(const OomProgram& program) {
  Value::Object object{{"line", program.first_line}, {"memory", ToText(program.space)}};
  const std::array<std::pair<const char*, const Number*>, 15> parts{
      {{"total", &program.total},
       {"reserved", &program.reserved},
       {"arguments", &program.arguments},
       {"heap", &program.heap},
       {"constants", &program.constants},
       {"outputs", &program.outputs},
       {"program", &program.program},
       {"temporaries", &program.temporaries},
       {"globals", &program.globals},
       {"scoped", &program.scoped},
       {"overlays", &program.overlays},
       {"fragmentation", &program.fragmentation},
       {"unpadded", &program.unpadded},
       {"padded", &program.padded},
       {"capacity", &program.capacity}}};
  for (const auto& [key, number] : parts) {
    object.emplace_back(key, MakeFigure(*number));
  }
  Value::List buffers;
  for (const OomBuffer& buffer : program.buffers) {
    buffers.push_back(MakeFigure(buffer));
  }
  object.emplace_back("buffers", std::move(buffers));
  object.emplace_back("damaged", program.damaged);
  return object;
}

Value MakeFigure(const OomPool& pool) {
  std::int64_t in_use = 0;
  std::int64_t free = 0;
  for (const OomChunk& chunk : pool.chunks) {
    in_use += chunk.in_use ? 1 : 0;
    free += chunk.in_use ? 0 : 1;
  }
  return Value::Object{{"line", pool.first_line},
                       {"allocator", ToText(pool.allocator)},
                       {"limit", MakeFigure(pool.limit)},
                       {"in_use", MakeFigure(pool.in_use)},
                       {"peak", MakeFigure(pool.peak)},
                       {"reserved", MakeFigure(pool.reserved)},
                       {"largest_free", MakeFigure(pool.largest_free)},
                       {"regions", static_cast<std::int64_t>(pool.regions)},
                       {"chunks_in_use", in_use},
                       {"chunks_free", free},
                       {"damaged", pool.damaged}};
}

}  // namespace

OomMessage WithTables(const OomMessages& messages, std::int64_t number) {
  OomMessage message = messages.at(number);
  for (std::int64_t each = 1; each <= messages.last(); ++each) {
    const OomMessage& other = messages.at(each);
    if (each == number || !SameRequest(message, other)) {
      continue;
    }
    if (IsOfPool(message) && IsOfPool(other)) {
      Fill(message.limit, other.limit);
      Fill(message.allocated, other.allocated);
      Fill(message.largest, other.largest);
    }
    message.gpu = message.gpu ? message.gpu : other.gpu;
    message.driver_refused = message.driver_refused || other.driver_refused;
    message.op = message.op.empty() ? other.op : message.op;
    Fill(message.program, other.program);
    Fill(message.pool, other.pool);
    Fill(message.remat, other.remat);
  }
  return message;
}

std::vector<OomRow> TableHolders(const OomCase& found) {
  if (!found.message || !found.breakdown) {
    return {};
  }
  if (found.breakdown->kind == BreakdownTotal::kProgram) {
    return Buffers(*found.message->program);
  }
  return found.message->pool && IsOfPool(*found.message) ? Chunks(*found.message->pool)
                                                         : std::vector<OomRow>();
}

void AddTables(const OomMessage& message, std::vector<NamedValue>& figures) {
  if (message.program) {
    figures.emplace_back("program", MakeFigure(*message.program));
  }
  if (message.pool) {
    figures.emplace_back("pool", MakeFigure(*message.pool));
  }
  if (message.remat) {
    figures.emplace_back("remat",
                         Value::Object{{"line", message.remat->line},
                                       {"goal", MakeFigure(Number(message.remat->goal))},
                                       {"reached", MakeFigure(Number(message.remat->reached))}});
  }
}

}  // namespace memtool
