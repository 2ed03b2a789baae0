// What launchers, containers and loggers put before a message: the process, its rank.
#pragma once

#include <optional>
#include <string_view>

namespace memtool::formats::log {

// "[rank3]: ", "[1,3]<stderr>:", "(pid=71) ", "3: ": what launchers put before each line of a
// process. Empty when there is none.
std::string_view GetTag(std::string_view line);

// What distinguishes the lines of one process from those of others; "[W1005 09:12:40 …]" is a
// logger's time, and does not.
std::string_view GetProcess(std::string_view tag);

// From "[rank3]", "rank=3", "Rank 3", "TP3", "[1,3]<stderr>", "3:". `before`: what stands before
// the message, tag included.
std::optional<int> GetRank(std::string_view tag, std::string_view before);

// "TP1", "DP0_TP3": the rank that vLLM and SGLang give a worker's process; -1 without one.
int RankInName(std::string_view name);

// The process that a log of several names before a message: "EngineCore_DP1 pid=71",
// "Worker_TP1 pid=72", "RayWorkerWrapper pid=73, ip=10.0.0.2". Empty when none is named.
std::string_view GetNamedProcess(std::string_view before);

// A message without what loggers put before it: behind the last "] ", "| " or time.
std::string_view GetMessage(std::string_view line);

}  // namespace memtool::formats::log
