module spanscope.test/progs

go 1.19
