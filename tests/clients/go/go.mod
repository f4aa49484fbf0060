module drive

go 1.19
