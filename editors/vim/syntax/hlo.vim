" HLO text. Later rules win where several match.
if exists('b:current_syntax')
  finish
endif

syntax case match
" Names hold '.' and '-'.
syntax iskeyword @,48-57,_,.,-

syntax match hloName /%\=\<\h[0-9A-Za-z_.-]*/
syntax match hloDefinition /%\=\<\h[0-9A-Za-z_.-]*\ze\s\+=\%(\s\|$\)/
syntax match hloNumber /-\=\<\d\+\%(\.\d*\)\=\%([eE][-+]\=\d\+\)\=\>/
syntax match hloOpcode /\%(%\)\@1<!\<\l[0-9a-z-]*\ze(/
syntax match hloType /\<\l[0-9a-z]*\ze\[/
syntax match hloAttribute /\<\h[0-9A-Za-z_.-]*\ze=/
syntax keyword hloKeyword HloModule ENTRY ROOT true false inf nan maximal replicated manual
syntax keyword hloKeyword last_tile_dim_replicate shard_as shard_like unknown unreduced
syntax keyword hloKeyword FileNames FunctionNames FileLocations StackFrames
syntax region hloString start=/"/ skip=/\\./ end=/"/
syntax region hloString start=/'/ skip=/\\./ end=/'/
syntax match hloComment /\/\/.*/
syntax region hloComment start=/\/\*/ end=/\*\//

highlight default link hloName Identifier
highlight default link hloDefinition Special
highlight default link hloNumber Number
highlight default link hloOpcode Function
highlight default link hloType Type
highlight default link hloAttribute Label
highlight default link hloKeyword Keyword
highlight default link hloString String
highlight default link hloComment Comment

let b:current_syntax = 'hlo'
