
2oops2space2bytes