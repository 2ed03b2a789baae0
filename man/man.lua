-- What pandoc's man writer does not do: code is bold, lines do not break inside an option, blocks
-- of code are not indented (tables of 70 columns have to fit), and memtool-top(1) is bold.

local function escape(text)
  return (text:gsub("\\", "\\e"):gsub("-", "\\-"):gsub("'", "\\[aq]"):gsub("`", "\\[ga]")
    :gsub("~", "\\[ti]"):gsub("%^", "\\[ha]"))
end

local function bold(text)
  return pandoc.RawInline("man", "\\f[B]" .. escape(text) .. "\\f[R]")
end

function Code(code)
  return bold(code.text)
end

function Str(str)
  local name, rest = str.text:match("^([%a][%w-]*)(%(%d%).*)$")
  if name then
    return {bold(name), pandoc.Str(rest)}
  end
end

function CodeBlock(block)
  local lines = {}
  for line in (block.text .. "\n"):gmatch("(.-)\n") do
    table.insert(lines, (escape(line):gsub("^%.", "\\&.")))
  end
  return pandoc.RawBlock("man", ".PP\n.nf\n" .. table.concat(lines, "\n") .. "\n.fi")
end
