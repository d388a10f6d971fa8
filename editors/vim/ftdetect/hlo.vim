autocmd BufNewFile,BufRead *.hlo setfiletype hlo
