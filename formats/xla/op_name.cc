#include "xla/op_name.h"

#include "support/trimmed.h"

namespace memtool::formats::xla {

namespace {

bool Opens(char c) {
  return c == '(' || c == '[' || c == '{';
}
bool Closes(char c) {
  return c == ')' || c == ']' || c == '}';
}

// Where brackets do not match (a name that was cut), every slash divides.
bool Balanced(std::string_view name) {
  int depth = 0;
  for (const char c : name) {
    depth += Opens(c) ? 1 : 0;
    depth -= Closes(c) ? 1 : 0;
    if (depth < 0) {
      return false;
    }
  }
  return depth == 0;
}

// "dot_general[dimension_numbers=… precision=None]" without what is in brackets.
std::string_view WithoutParameters(std::string_view scope) {
  const std::size_t open = scope.find('[');
  const bool parameters =
      open != std::string_view::npos && open > 0 && scope.find('=', open) != std::string_view::npos;
  return parameters ? scope.substr(0, open) : scope;
}

}  // namespace

std::vector<std::string_view> SplitOpName(std::string_view op_name) {
  const bool nested = Balanced(op_name);
  std::vector<std::string_view> scopes;
  int depth = 0;
  std::size_t begin = 0;
  for (std::size_t at = 0; at <= op_name.size(); ++at) {
    const char c = at < op_name.size() ? op_name[at] : '/';
    depth += nested && Opens(c) ? 1 : 0;
    depth -= nested && Closes(c) ? 1 : 0;
    if (c != '/' || depth > 0) {
      continue;
    }
    const std::string_view scope = Trimmed(WithoutParameters(op_name.substr(begin, at - begin)));
    begin = at + 1;
    if (!scope.empty()) {
      scopes.push_back(scope);
    }
  }
  if (scopes.size() > kMaxScopes) {
    scopes.erase(scopes.begin(), scopes.end() - static_cast<std::ptrdiff_t>(kMaxScopes));
  }
  return scopes;
}

}  // namespace memtool::formats::xla
