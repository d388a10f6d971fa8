-- A session of Neovim with hlo lsp; needs hlo in PATH:
--
--   nvim --headless --clean --cmd 'set runtimepath^=editors/vim' -S editors/vim/try.lua
--
-- Opens a text with an error, prints what the server says of it, mends it, asks for hover, definition and formatting.
local file = vim.fn.tempname() .. '.hlo'
vim.fn.writefile({
  'HloModule try', '', 'ENTRY main {', '  x = f32[2,3] parameter(0)', '  y = f32[3] negate(x)',
  '  ROOT z = f32[2,3]   add(x, y)', '}' }, file)

local function try()
  vim.cmd('filetype plugin on | syntax on | edit ' .. file)
  assert(vim.bo.filetype == 'hlo', 'the file type is ' .. vim.bo.filetype)
  print('syntax of negate: ' .. vim.fn.synIDattr(vim.fn.synID(5, 14, 1), 'name'))
  local client = vim.lsp.start_client({ name = 'hlo', cmd = { 'hlo', 'lsp' }, root_dir = vim.fn.fnamemodify(file, ':h') })
  vim.lsp.buf_attach_client(0, client)
  assert(vim.wait(10000, function() return #vim.diagnostic.get(0) > 0 end), 'no diagnostic')
  print('diagnostic: ' .. vim.diagnostic.get(0)[1].message)
  vim.api.nvim_buf_set_lines(0, 4, 5, true, { '  y = f32[2,3] negate(x)' })
  assert(vim.wait(10000, function() return #vim.diagnostic.get(0) == 0 end), 'the diagnostic stays')
  vim.fn.search('add(x')
  vim.fn.cursor(0, vim.fn.col('.') + 4)
  local function ask(method, params)
    local answers = vim.lsp.buf_request_sync(0, method, params, 10000)
    return assert(answers and answers[client] and answers[client].result, method .. ': no answer')
  end
  local params = vim.lsp.util.make_position_params(0, 'utf-16')
  local hover = ask('textDocument/hover', params).contents
  print('hover: ' .. vim.split(hover.value or hover, '\n')[1])
  local place = ask('textDocument/definition', params)
  print('definition: line ' .. (place[1] or place).range.start.line + 1)
  local edits = ask('textDocument/formatting', { textDocument = params.textDocument, options = { tabSize = 2, insertSpaces = true } })
  vim.lsp.util.apply_text_edits(edits, 0, 'utf-16')
  print(table.concat(vim.api.nvim_buf_get_lines(0, 0, -1, true), '\n'))
end

local fine, why = pcall(try)
vim.fn.delete(file)
if not fine then print(why) end
vim.cmd(fine and 'qall!' or 'cquit')
