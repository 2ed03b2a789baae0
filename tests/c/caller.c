/* A caller in plain C: reads a file, asks for its rows, and adds up a column of theirs.
 *
 * usage: caller FILE COLUMN */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "memtool.h"

static memtool_outcome* Await(memtool_task* task) {
  memtool_outcome* outcome;
  while (memtool_wait(task, 50) == 0) {
  }
  outcome = memtool_finish(task);
  if (outcome == NULL || memtool_finish(task) != NULL) {
    fprintf(stderr, "no outcome, or two\n");
    exit(2);
  }
  memtool_task_free(task);
  return outcome;
}

static void Say(const memtool_error* error) {
  printf("%s %d %" PRId64 " %s\n", error->code, error->system_error, error->offset,
         error->text.bytes);
}

int main(int argc, char** argv) {
  const char* words[] = {"top", "--format=json", "-n", "0", "--", NULL};
  memtool_named_input named;
  memtool_outcome *read, *answer;
  int64_t sum = 0;
  size_t column, row;
  if (argc != 3) {
    return 2;
  }
  read = Await(memtool_load(argv[1], NULL));
  if (read->error != NULL) {
    Say(read->error);
    memtool_outcome_free(read);
    return 1;
  }
  printf("%s, %d\n", read->input->format, read->input->has_history);
  named.name = words[5] = argv[1];
  named.input = read->input;
  answer = Await(memtool_ask(words, 6, &named, 1, 1));
  memtool_outcome_free(read);
  if (answer->table == NULL) {
    return 2;
  }
  for (column = 0; column < answer->table->column_count; ++column) {
    const memtool_column* one = &answer->table->columns[column];
    if (strcmp(one->key, argv[2]) == 0 && one->type == 'q' && one->missing == NULL) {
      for (row = 0; row < answer->table->rows; ++row) {
        sum += ((const int64_t*)one->data)[row];
      }
    }
  }
  printf("%zu rows, %" PRId64 "\n", answer->table->rows, sum);
  memtool_outcome_free(answer);
  /* What is not wanted ends by itself, and a task may be freed at any time. */
  memtool_task_free(memtool_ask(words, 6, NULL, 0, 0));
  memtool_task_free(NULL);
  memtool_outcome_free(NULL);
  memtool_stream_free(NULL);
  return 0;
}
