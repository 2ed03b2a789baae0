#include "memtool/profile/history/redact.h"

#include <gtest/gtest.h>

#include "memtool/profile/model/recording_builder.h"
#include "support/make_history.h"

namespace memtool {
namespace {

// The first 12 digits of sha256sum of the salt, a NUL byte and the name.
TEST(StandIn, IsTheHashThatTheManualTells) {
  EXPECT_EQ(StandIn('f', "forward", ""), "f_b685b23c829d");
  EXPECT_EQ(StandIn('f', "forward", "pepper"), "f_1821b850a244");
  // Over the lengths at which the padding takes another block.
  EXPECT_EQ(StandIn('f', std::string(54, 'x'), ""), "f_621e673425cf");
  EXPECT_EQ(StandIn('f', std::string(55, 'x'), ""), "f_a7566da02621");
  EXPECT_EQ(StandIn('f', std::string(63, 'x'), ""), "f_d27f02fdcc3a");
  EXPECT_EQ(StandIn('f', std::string(1000, 'x'), ""), "f_9e4385b5314f");
}

TEST(Redact, KeepsNoName) {
  RecordingBuilder builder;
  const StringId secret = builder.Intern("secret_model");
  const FunctionId function = builder.AddFunction(
      {.name = secret, .system_name = secret, .filename = builder.Intern("/home/me/net.py")});
  const FunctionId native = builder.AddFunction(
      {.name = secret, .system_name = secret, .filename = builder.Intern("??")});
  const std::vector<Line> lines{{.function = function, .line = 12}, {.function = native}};
  const LocationId location = builder.AddLocation({}, lines);
  builder.AddStack(std::vector<LocationId>{location});
  const LabelSetId labels = builder.InternLabels(std::vector<Label>{
      {.key = builder.Intern("user_metadata"), .text = secret, .unit = StringId(0U)},
      {.key = builder.Intern("pool"), .text = builder.Intern("(0, 1)"), .unit = StringId(0U)}});
  builder.AddDiagnostic({.code = "quoted", .message = "secret_model is odd"});
  builder.metadata().comments.push_back(builder.Intern("run by me"));
  builder.metadata().origin.host = "my-laptop";
  builder.metadata().origin.process = 4711;
  History history;
  history.streams = {0};
  history.marks = {{.name = "secret_phase"}, {.name = "ProfilerStep#3"}, {.name = "snapshot"}};
  const Recording redacted =
      Redact(test::MakeRecording(std::move(history), {}, std::move(builder)), "salt");

  for (std::uint32_t i = 0; i < redacted.strings.size(); ++i) {
    const std::string_view text = redacted.strings[StringId(i)];
    EXPECT_EQ(text.find("secret"), std::string_view::npos);
    EXPECT_EQ(text.find("/home"), std::string_view::npos);
    EXPECT_EQ(text.find("by me"), std::string_view::npos);
  }
  EXPECT_EQ(redacted.Text(redacted.functions[0].name), StandIn('f', "secret_model", "salt"));
  EXPECT_EQ(redacted.functions[0].name, redacted.functions[1].name);
  EXPECT_EQ(redacted.Text(redacted.functions[0].filename),
            StandIn('p', "/home/me/net.py", "salt") + ".py");
  EXPECT_EQ(redacted.Text(redacted.functions[1].filename), "??");
  EXPECT_EQ(redacted.lines[0].line, 12);
  const auto set = redacted.Labels(labels);
  EXPECT_EQ(redacted.Text(set[0].text), StandIn('t', "secret_model", "salt"));
  EXPECT_EQ(redacted.Text(set[1].text), "(0, 1)");
  EXPECT_EQ(redacted.history->marks[0].name, StandIn('m', "secret_phase", "salt"));
  EXPECT_EQ(redacted.history->marks[1].name, "ProfilerStep#3");
  EXPECT_EQ(redacted.history->marks[2].name, "snapshot");
  EXPECT_TRUE(redacted.diagnostics.empty());
  EXPECT_TRUE(redacted.metadata.comments.empty());
  EXPECT_TRUE(redacted.metadata.origin.host.empty());
  EXPECT_FALSE(redacted.metadata.origin.process);
}

// What anybody can install says nothing about a program; its path tells the user's folders.
TEST(Redact, KeepsPublicFrameworks) {
  RecordingBuilder builder;
  const auto add = [&builder](std::string_view name, std::string_view file) {
    const StringId id = builder.Intern(name);
    builder.AddFunction({.name = id, .system_name = id, .filename = builder.Intern(file)});
  };
  add("_call_impl", "/home/me/env/lib/python3.11/site-packages/torch/nn/modules/module.py");
  add("run", "/home/me/env/lib/python3.11/threading.py");
  add("forward", "/home/me/env/lib/python3.11/site-packages/secret_model/net.py");
  add("torch_net", "/home/me/site-packages/torch.py");
  add("at::native::add", "??");
  add("torch::autograd::CppNode<secret_op>::apply", "??");
  add("helper", "/home/me/lib/python3/net.c");
  const Recording redacted =
      Redact(test::MakeRecording(History{.streams = {0}}, {}, std::move(builder)), "salt");
  const auto text = [&](std::size_t function) {
    const Function& row = redacted.functions[function];
    return std::string(redacted.Text(row.name)) + " " + std::string(redacted.Text(row.filename));
  };
  EXPECT_EQ(text(0), "_call_impl site-packages/torch/nn/modules/module.py");
  EXPECT_EQ(text(1), "run /lib/python3.11/threading.py");
  EXPECT_EQ(text(4), "at::native::add ??");
  EXPECT_EQ(text(5), StandIn('f', "torch::autograd::CppNode<secret_op>::apply", "salt") + " ??");
  for (const std::size_t function : {2, 3, 6}) {
    EXPECT_EQ(text(function).substr(0, 2), "f_") << function;
    EXPECT_NE(text(function).find(" p_"), std::string::npos) << function;
  }
  for (std::uint32_t i = 0; i < redacted.strings.size(); ++i) {
    EXPECT_EQ(redacted.strings[StringId(i)].find("me/"), std::string_view::npos);
  }
}

}  // namespace
}  // namespace memtool
