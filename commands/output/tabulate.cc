#include "output/tabulate.h"

#include "memtool/profile/answers/write.h"
#include "memtool/profile/base/abridge.h"
#include "output/grid.h"

namespace memtool::commands {

Column MakeColumn(const FieldInfo& field) {
  const Layout& layout = field.layout;
  const bool text = field.unit == Unit::kText || field.unit == Unit::kAddress;
  return {.title = field.title,
          .left = text || layout.left,
          .shrink = text && !layout.fixed && !layout.lines,
          .drop = layout.drop,
          .room = layout.room,
          .path = layout.path,
          .lines = layout.lines,
          .wrap = layout.wrap,
          .growth = layout.signs,
          .key = field.key};
}

Cell MakeCell(std::string_view text, const Layout& layout) {
  return layout.wrap || layout.lines ? std::string(text) : Abridge(text, kMaxCellBytes);
}

Cell MakeCell(const Value& value, Unit unit, bool bytes, bool sign) {
  const bool amount = unit == Unit::kAmount || unit == Unit::kBytes;
  struct Visitor {
    Unit unit;
    bool amount;
    bool bytes;
    bool sign;
    Cell operator()(std::monostate) const { return std::monostate{}; }
    Cell operator()(bool flag) const { return std::string(flag ? "yes" : "no"); }
    Cell operator()(std::int64_t number) const {
      return amount ? Cell(Amount{.value = number, .bytes = bytes, .sign = sign}) : Cell(number);
    }
    Cell operator()(std::uint64_t number) const {
      return (*this)(static_cast<std::int64_t>(number));
    }
    Cell operator()(double ratio) const { return Percent{ratio, sign}; }
    Cell operator()(const std::string& text) const { return text; }
    Cell operator()(const SharedText& text) const { return Abridge(text, kMaxCellBytes); }
    Cell operator()(const Value::List& list) const { return ToJson(list); }
    Cell operator()(const Value::Object& object) const { return ToJson(object); }
  };
  return std::visit(Visitor{unit, amount, bytes || unit == Unit::kBytes, sign}, value.data());
}

}  // namespace memtool::commands
