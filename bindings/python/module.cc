// memtool._core: command lines in, answers as columns out. The package memtool/ words it for
// Python.
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>
#include <sys/stat.h>

#include <algorithm>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "arrow.h"
#include "base/command.h"
#include "columns.h"
#include "help/vocabulary.h"
#include "memtool/formats/open.h"
#include "memtool/profile/base/escape.h"
#include "memtool/profile/replay/history_index.h"
#include "memtool/profile/replay/moment.h"
#include "output/escape.h"
#include "output/sink.h"
#include "session/recording_cache.h"
#include "task.h"
#include "values.h"

namespace py = pybind11;

namespace memtool::python {

namespace {

using commands::RecordingCache;

// --- what Python holds ---

// A file that was read. Nothing in it changes afterwards, so that any thread may ask about it.
struct Input {
  std::string path;
  std::string format;                          // for people
  std::shared_ptr<const Recording> recording;  // null: a log, which each question reads again
  std::shared_ptr<const HistoryIndex> index;   // null without a history
};

// Memory that an answer owns.
struct Buffer {
  std::shared_ptr<const Table> table;
  const void* data = nullptr;
  std::size_t rows = 0;
  std::size_t width = 0;
  std::string format;  // of Python's struct module
};

struct ColumnOfTable {
  std::shared_ptr<const Table> table;
  const TableColumn* column = nullptr;
};

// How a command line ended.
struct Outcome {
  int code = 0;
  std::string out;
  std::string err;
  std::optional<Error> error{};
  std::shared_ptr<const Table> table{};  // null: the answer is the text in `out`
};

// --- reading ---

void Replay(Input& input) {
  if (!input.recording->history) {
    return;
  }
  auto index = std::make_shared<const HistoryIndex>(input.recording);
  // What is worked out when it is first asked for is worked out here: threads share it.
  for (const Trace& trace : input.recording->history->traces) {
    (void)index->summary(trace);
  }
  input.index = std::move(index);
}

Result<Input> Read(const std::string& path, Task& task) {
  formats::OpenOptions options;
  options.accepted.oom_logs = true;
  options.on_bytes = [&task](std::uint64_t bytes) { task.CountRead(bytes); };
  auto document = formats::Open(path, options);
  MEMTOOL_TRY(document);
  Input input{.path = path};
  if (document->kind() == formats::DocumentKind::kOomLog) {
    if (!document->oom_log().messages.empty()) {
      input.format = "text log";
      return input;
    }
    // Text without a message: perhaps a reader recognises it. Its bytes were counted.
    options.on_bytes = [&task](std::uint64_t /*bytes*/) { task.CheckWanted(); };
    auto recording = formats::OpenRecording(path, options);
    MEMTOOL_TRY(recording);
    document = formats::Document(*std::move(recording));
  }
  task.may_wait = false;
  task.CheckWanted();
  input.recording = std::make_shared<const Recording>((*std::move(document)).recording());
  input.format = input.recording->metadata.format_display;
  Replay(input);
  return input;
}

// How many bytes a file has; none where only reading tells.
std::optional<std::uint64_t> SizeOf(const std::string& path) {
  struct stat status {};
  if (::stat(path.c_str(), &status) != 0 || !S_ISREG(status.st_mode)) {
    return std::nullopt;
  }
  return static_cast<std::uint64_t>(status.st_size);
}

Outcome Failed(Error error, const std::string& path) {
  error.input = error.input.empty() ? path : error.input;
  const commands::ExitCode code = commands::ExitCodeFor(error);
  return {.code = static_cast<int>(code), .error = std::move(error)};
}

// Calls `report`, unless it is None, with how many bytes were read and how many there are.
class Progress {
 public:
  Progress(py::object report, std::optional<std::uint64_t> total)
      : report_(std::move(report)), total_(total) {}

  void Show(std::uint64_t read) {
    // What is read with a file, from one beside it, is not in its size.
    read = total_ ? std::min(read, *total_) : read;
    if (!report_.is_none() && read > shown_) {
      shown_ = read;
      report_(read, total_);
    }
  }
  // A reader may know enough before the end.
  void ShowEnd() { Show(total_.value_or(0)); }

 private:
  py::object report_;
  std::optional<std::uint64_t> total_;
  std::uint64_t shown_ = 0;
};

using Loaded = std::pair<std::shared_ptr<Input>, Outcome>;

Loaded Load(const std::string& path, const std::optional<std::string>& moment,
            const py::object& report) {
  if (moment) {
    if (auto parsed = ParseMoment(*moment, "at"); !parsed) {
      return {nullptr, Failed(std::move(parsed.error()), "")};
    }
  }
  Progress progress(report, SizeOf(path));
  const auto loaded = std::make_shared<Loaded>();
  RunTask(
      [loaded, path](Task& task) {
        task.may_wait = !SizeOf(path).has_value();
        auto read = Read(path, task);
        if (read) {
          loaded->first = std::make_shared<Input>(*std::move(read));
        } else {
          loaded->second = Failed(std::move(read.error()), path);
        }
      },
      [&progress](const Task& task) { progress.Show(task.read()); });
  if (loaded->first) {
    progress.ShowEnd();
  }
  return std::move(*loaded);
}

// --- command lines ---

struct NamedInput {
  std::string name;  // as the command line has it
  std::shared_ptr<const Input> input;
};

struct CommandLine {
  std::vector<std::string> words;
  std::vector<NamedInput> inputs;
  bool as_columns = false;  // an answer with rows becomes a table instead of text
};

Outcome Answer(const CommandLine& line, const Task& task) {
  RecordingCache cache;
  for (const NamedInput& named : line.inputs) {
    if (named.input->recording) {
      cache.Keep(RecordingCache::GetKey(named.name, {}), named.input->recording,
                 named.input->index);
    }
  }
  Outcome outcome;
  commands::StringSink out;
  commands::StringSink err;
  commands::Streams streams{out, err, {}, &cache};
  if (line.as_columns) {
    streams.on_answer = [&](const AnswerView& answer, std::size_t limit) {
      task.CheckWanted();
      outcome.table = std::make_shared<const Table>(ToTable(answer, limit));
    };
  }
  outcome.code = commands::RunMain(line.words, streams);
  outcome.out = out.text();
  outcome.err = err.text();
  outcome.error = std::move(streams.error);
  return outcome;
}

Outcome Run(CommandLine line) {
  const auto outcome = std::make_shared<Outcome>();
  RunTask([outcome, line = std::move(line)](Task& task) { *outcome = Answer(line, task); },
          [](const Task& /*task*/) {});
  return std::move(*outcome);
}

// --- columns ---

template <class Number>
Buffer MakeBuffer(const ColumnOfTable& of, const std::vector<Number>& values) {
  return {of.table, values.data(), values.size(), sizeof(Number),
          py::format_descriptor<Number>::format()};
}

Buffer ToTruths(const ColumnOfTable& of, const std::vector<std::uint8_t>& values) {
  Buffer buffer = MakeBuffer(of, values);
  buffer.format = "?";
  return buffer;
}

// Numbers, or the numbers of words; None for values.
std::optional<Buffer> ToData(const ColumnOfTable& of) {
  return std::visit(
      [&of](const auto& data) -> std::optional<Buffer> {
        using Data = std::decay_t<decltype(data)>;
        if constexpr (std::is_same_v<Data, AnswerColumn::Truths>) {
          return ToTruths(of, data.values);
        } else if constexpr (std::is_same_v<Data, Categories>) {
          return std::visit([&of](const auto& codes) { return MakeBuffer(of, codes); }, data.codes);
        } else if constexpr (std::is_same_v<Data, std::vector<Value>>) {
          return std::nullopt;
        } else {
          return MakeBuffer(of, data);
        }
      },
      of.column->data);
}

std::optional<Buffer> MakeValidity(const ColumnOfTable& of) {
  return of.column->missing.empty() ? std::nullopt
                                    : std::optional(ToTruths(of, of.column->missing));
}

// What the codes of text stand for; None for other columns.
py::object ToWords(const ColumnOfTable& of) {
  const auto* categories = std::get_if<Categories>(&of.column->data);
  if (categories == nullptr) {
    return py::none();
  }
  py::list words;
  for (const std::string& word : categories->words) {
    words.append(py::str(word.data(), word.size()));
  }
  return words;
}

py::object ToObjects(const ColumnOfTable& of) {
  const auto* values = std::get_if<std::vector<Value>>(&of.column->data);
  if (values == nullptr) {
    return py::none();
  }
  py::list objects;
  for (const Value& value : *values) {
    objects.append(ToObject(value));
  }
  return objects;
}

// --- the rest of an answer ---

py::list GetInputs(const Table& table) {
  py::list inputs;
  for (const InputNote& note : table.inputs) {
    py::dict input;
    input["path"] = ToStr(note.path);
    input["format"] = ToStr(note.format);
    input["moment"] = ToStr(note.moment);
    for (const auto& [key, value] : note.details) {
      input[ToStr(key)] = ToObject(value);
    }
    inputs.append(input);
  }
  return inputs;
}

py::list GetDiagnostics(const Table& table) {
  py::list diagnostics;
  for (const Diagnostic& diagnostic : table.diagnostics) {
    py::dict one;
    one["severity"] = diagnostic.severity == Severity::kNote      ? "note"
                      : diagnostic.severity == Severity::kWarning ? "warning"
                                                                  : "damage";
    one["code"] = ToStr(diagnostic.code);
    one["message"] = ToStr(diagnostic.message);
    one["offset"] = ToObject(Value(diagnostic.offset));
    one["count"] = diagnostic.count;
    diagnostics.append(one);
  }
  return diagnostics;
}

py::dict MakeFigures(const Table& table) {
  py::dict figures;
  for (const auto& [key, value] : table.figures) {
    figures[ToStr(key)] = ToObject(value);
  }
  return figures;
}

py::list MakeColumns(const std::shared_ptr<const Table>& table) {
  py::list columns;
  for (const TableColumn& column : table->columns) {
    columns.append(ColumnOfTable{table, &column});
  }
  return columns;
}

py::object ToError(const Outcome& outcome) {
  if (!outcome.error) {
    return py::none();
  }
  const Error& error = *outcome.error;
  py::dict made;
  made["text"] = ToStr(EscapeText(ToString(error)));
  made["code"] = ErrorCodeName(error.code);
  made["input"] = py::bytes(error.input);
  made["offset"] = ToObject(Value(error.offset));
  made["message"] = ToStr(EscapeText(error.message));
  made["hint"] = ToStr(EscapeText(error.hint));
  return made;
}

// Command → (summary, option → (what its value is called, short help, letter, may be repeated)).
py::dict Vocabulary() {
  py::dict all;
  for (const commands::CommandWords& command : commands::Vocabulary()) {
    py::dict options;
    for (const commands::OptionWords& option : command.options) {
      const std::string letter = option.letter == 0 ? "" : std::string(1, option.letter);
      options[py::str(option.name)] =
          py::make_tuple(option.value, option.about, letter, option.several);
    }
    all[py::str(command.name)] = py::make_tuple(command.summary, options);
  }
  return all;
}

constexpr const char* kStreamName = "arrow_array_stream";

void ReleaseCapsule(PyObject* capsule) {
  auto* stream = static_cast<ArrowArrayStream*>(PyCapsule_GetPointer(capsule, kStreamName));
  if (stream->release != nullptr) {
    stream->release(stream);
  }
  delete stream;
}

py::object GetStream(const std::shared_ptr<const Table>& table) {
  auto stream = std::make_unique<ArrowArrayStream>();
  ExportStream(table, stream.get());
  PyObject* capsule = PyCapsule_New(stream.get(), kStreamName, ReleaseCapsule);
  if (capsule == nullptr) {
    stream->release(stream.get());
    throw py::error_already_set();
  }
  (void)stream.release();  // the capsule's
  return py::reinterpret_steal<py::object>(capsule);
}

using PythonInputs = std::vector<std::pair<py::bytes, std::shared_ptr<const Input>>>;

std::vector<NamedInput> NamedInputs(const PythonInputs& inputs) {
  std::vector<NamedInput> named;
  named.reserve(inputs.size());
  for (const auto& [name, input] : inputs) {
    named.push_back({std::string(name), input});
  }
  return named;
}

// Text as a terminal may have it, and how many cells of it that takes; at most `width`.
std::pair<py::str, std::size_t> Show(std::string_view bytes, std::size_t width) {
  const std::string shown = commands::Shorten(EscapeText(bytes), width);
  return {py::str(shown), commands::DisplayWidth(shown)};
}

}  // namespace

PYBIND11_MODULE(_core, module) {
  py::class_<Input, std::shared_ptr<Input>>(module, "Input")
      .def_readonly("format", &Input::format)
      .def_property_readonly("has_history",
                             [](const Input& input) { return input.index != nullptr; });

  py::class_<Buffer>(module, "Buffer", py::buffer_protocol()).def_buffer([](const Buffer& buffer) {
    return py::buffer_info(const_cast<void*>(buffer.data),  // NOLINT: it is read-only
                           static_cast<py::ssize_t>(buffer.width), buffer.format, 1,
                           {static_cast<py::ssize_t>(buffer.rows)},
                           {static_cast<py::ssize_t>(buffer.width)}, true);
  });

  py::class_<ColumnOfTable>(module, "Column")
      .def_property_readonly("key", [](const ColumnOfTable& of) { return of.column->key; })
      .def_property_readonly("title",
                             [](const ColumnOfTable& of) { return ToStr(of.column->title); })
      .def_property_readonly(
          "unit",
          [](const ColumnOfTable& of) { return ToStr(UnitName(of.column->unit, of.table->unit)); })
      .def_property_readonly("rows", [](const ColumnOfTable& of) { return of.table->rows; })
      .def_property_readonly("data", ToData)
      .def_property_readonly("missing", MakeValidity)
      .def("words", ToWords)
      .def("objects", ToObjects);

  py::class_<Table, std::shared_ptr<Table>>(module, "Table")
      .def_readonly("question", &Table::question)
      .def_readonly("rows", &Table::rows)
      .def_property_readonly("unit", [](const Table& table) { return ToStr(table.unit); })
      .def_property_readonly("sample_type",
                             [](const Table& table) { return ToStr(table.sample_type); })
      .def_property_readonly("inputs", GetInputs)
      .def_property_readonly("diagnostics", GetDiagnostics)
      .def_property_readonly("figures", MakeFigures)
      .def_property_readonly("columns",
                             [](const std::shared_ptr<Table>& table) { return MakeColumns(table); })
      .def("stream", [](const std::shared_ptr<Table>& table) { return GetStream(table); });

  py::class_<Outcome>(module, "Outcome")
      .def_readonly("code", &Outcome::code)
      .def_property_readonly("out", [](const Outcome& outcome) { return ToStr(outcome.out); })
      .def_property_readonly("err", [](const Outcome& outcome) { return ToStr(outcome.err); })
      .def_property_readonly("error", ToError)
      .def_property_readonly("table", [](const Outcome& outcome) {
        return std::const_pointer_cast<Table>(outcome.table);  // NOLINT: Python only reads it
      });

  module.def("load", [](const py::bytes& path, const std::optional<py::bytes>& moment,
                        const py::object& report) {
    return Load(std::string(path), moment ? std::optional(std::string(*moment)) : std::nullopt,
                report);
  });
  module.def("run",
             [](const std::vector<py::bytes>& words, const PythonInputs& inputs, bool as_columns) {
               return Run({{words.begin(), words.end()}, NamedInputs(inputs), as_columns});
             });
  module.def("show", [](const py::bytes& text, std::size_t width) {
    return Show(std::string_view(text), width);
  });
  module.def("stop", StopTasks, py::call_guard<py::gil_scoped_release>());
  module.def("vocabulary", Vocabulary);
  module.attr("__version__") = MEMTOOL_VERSION;
}

}  // namespace memtool::python
