# cmake -DFROM=file -DOUT=header -DNAME=name -P embed.cmake: the bytes of a file as an array, with a 0 after them.
file(READ ${FROM} bytes HEX)
string(REGEX REPLACE "(................................)" "\\1\n" bytes "${bytes}")
string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1," bytes "${bytes}")
file(WRITE ${OUT} "static const char ${NAME}[] = {\n${bytes}0};\n")
