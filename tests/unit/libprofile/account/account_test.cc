#include "memtool/profile/account/account.h"

#include <gtest/gtest.h>

#include <map>
#include <string>

namespace memtool {
namespace {

Quantity Said(std::int64_t bytes, std::int64_t precision = 0) {
  return {.bytes = bytes, .precision = precision, .source = "test"};
}

// "key" → bytes, or "?" when unknown.
std::map<std::string, std::string> Steps(const AccountFacts& facts) {
  std::map<std::string, std::string> steps;
  for (const AccountStep& step : MakeAccountSteps(facts)) {
    steps[step.key] = step.kind == AccountStep::Kind::kUnknown ? "?" : std::to_string(step.bytes);
  }
  return steps;
}

TEST(Account, EveryStepOfAFullLadder) {
  const auto steps = Steps({.capacity = Said(1000),
                            .used = Said(900),
                            .process = Said(800),
                            .reserved = Said(600),
                            .allocated = Said(500),
                            .requested = Said(480),
                            .releasable = Said(30),
                            .fragmented = Said(70)});
  const std::map<std::string, std::string> wanted{
      {"capacity", "1000"},       {"free", "100"},      {"used", "900"},
      {"other_processes", "100"}, {"process", "800"},   {"below_framework", "200"},
      {"reserved", "600"},        {"cached", "100"},    {"releasable", "30"},
      {"fragmented", "70"},       {"allocated", "500"}, {"rounding", "20"},
      {"requested", "480"}};
  EXPECT_EQ(steps, wanted);
}

TEST(Account, WhatNobodySaysStaysUnknown) {
  const auto steps = Steps({.process = Said(800), .allocated = Said(500)});
  EXPECT_EQ(steps.at("capacity"), "?");
  EXPECT_EQ(steps.at("used"), "?");
  EXPECT_EQ(steps.at("other_processes"), "?");
  EXPECT_EQ(steps.at("process"), "800");
  EXPECT_EQ(steps.at("below_framework"), "?");
  EXPECT_EQ(steps.at("cached"), "?");
  EXPECT_EQ(steps.at("fragmented"), "?");
  EXPECT_EQ(steps.at("allocated"), "500");
}

TEST(Account, CompletesTheDevice) {
  AccountFacts facts{.free = Said(100), .used = Said(900)};
  Complete(facts);
  EXPECT_EQ(facts.capacity->bytes, 1000);
  facts = {.capacity = Said(1000), .free = Said(250)};
  Complete(facts);
  EXPECT_EQ(facts.used->bytes, 750);
}

// Those that contradict each other, in order.
std::string Contradicting(const AccountFacts& facts) {
  std::string keys;
  for (const AccountStep& step : MakeAccountSteps(facts)) {
    if (step.contradicts) {
      EXPECT_EQ(step.kind, AccountStep::Kind::kUnknown) << step.key;
      keys += (keys.empty() ? "" : " ") + step.key;
    }
  }
  return keys;
}

TEST(Account, ADifferenceBelowZeroIsUnknown) {
  EXPECT_EQ(Contradicting({.process = Said(500, 10), .reserved = Said(600)}), "below_framework");
  EXPECT_EQ(Contradicting({.allocated = Said(500), .requested = Said(501)}), "rounding");
  // Less than rounding at the source is nothing, and no contradiction.
  EXPECT_EQ(Contradicting({.process = Said(595, 10), .reserved = Said(600)}), "");
  EXPECT_EQ(Steps({.process = Said(595, 10), .reserved = Said(600)}).at("below_framework"), "0");
}

TEST(Account, ADeviceThatDoesNotAddUpIsAContradiction) {
  EXPECT_EQ(Contradicting({.capacity = Said(1000), .free = Said(1001)}), "used");
  EXPECT_EQ(Contradicting({.capacity = Said(1000), .used = Said(1001)}), "free");
  Quantity elsewhere = Said(50);
  elsewhere.source = "another";
  EXPECT_EQ(Contradicting({.capacity = Said(1000), .free = elsewhere, .used = Said(900)}), "free");
  EXPECT_EQ(Contradicting({.capacity = Said(1000), .free = Said(101), .used = Said(900)}), "free");
  // What a driver keeps for itself is neither free nor used.
  EXPECT_EQ(Contradicting({.capacity = Said(1000), .free = Said(50), .used = Said(900)}), "");
  EXPECT_EQ(Contradicting({.capacity = Said(1000, 5), .free = Said(101), .used = Said(900)}), "");
  const AccountFacts reserving{.capacity = Said(1000, 5), .free = Said(50), .used = Said(900)};
  EXPECT_EQ(Steps(reserving).at("driver_reserved"), "50");
  EXPECT_EQ(Steps({.capacity = Said(1000, 5), .free = Said(97), .used = Said(900)})
                .count("driver_reserved"),
            0U);
}

// Parts sum to their whole wherever both are known.
TEST(Account, PartsSumToTheirWhole) {
  for (int mask = 0; mask < 128; ++mask) {
    const auto given = [mask](int bit, std::int64_t bytes) {
      return (mask >> bit & 1) != 0 ? std::optional(Said(bytes)) : std::nullopt;
    };
    const auto steps = Steps({.capacity = given(0, 1000),
                              .used = given(1, 900),
                              .process = given(2, 800),
                              .reserved = given(3, 600),
                              .allocated = given(4, 500),
                              .requested = given(5, 480),
                              .releasable = given(6, 30),
                              .fragmented = given(6, 70)});
    const auto holds = [&](const char* whole, const char* a, const char* b) {
      if (steps.at(whole) != "?" && steps.at(a) != "?" && steps.at(b) != "?") {
        EXPECT_EQ(std::stoll(steps.at(whole)), std::stoll(steps.at(a)) + std::stoll(steps.at(b)))
            << whole << " of facts " << mask;
      }
    };
    holds("capacity", "free", "used");
    holds("used", "other_processes", "process");
    holds("process", "below_framework", "reserved");
    holds("reserved", "cached", "allocated");
    holds("cached", "releasable", "fragmented");
    holds("allocated", "rounding", "requested");
  }
}

}  // namespace
}  // namespace memtool
