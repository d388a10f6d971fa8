;;; hlo-mode.el --- HLO text, with hlo lsp through eglot  -*- lexical-binding: t -*-

;; Version: 0.1.0
;; Package-Requires: ((emacs "26.1"))

;;; Commentary:

;; Colours for *.hlo; `M-x eglot' starts hlo lsp, which knows the rest: errors, hover, definition, rename, formatting.
;; There are no lists of opcodes and element types: a word before "(" is one, a word before "[" the other.

;;; Code:

(defvar hlo-mode-syntax-table
  (let ((table (make-syntax-table)))
    (dolist (sign '(?_ ?. ?- ?%)) (modify-syntax-entry sign "_" table))
    (modify-syntax-entry ?/ ". 124b" table)
    (modify-syntax-entry ?* ". 23" table)
    (modify-syntax-entry ?\n "> b" table)
    (modify-syntax-entry ?' "\"" table)
    (dolist (sign '(?= ?< ?>)) (modify-syntax-entry sign "." table))
    table))

(defconst hlo-mode-keywords
  '("HloModule" "ENTRY" "ROOT" "true" "false" "inf" "nan" "maximal" "replicated" "manual" "last_tile_dim_replicate"
    "shard_as" "shard_like" "unknown" "unreduced" "FileNames" "FunctionNames" "FileLocations" "StackFrames"))

(defconst hlo-mode-font-lock-keywords
  (let ((name "%?[A-Za-z_][A-Za-z0-9_.-]*"))
    `((,(regexp-opt hlo-mode-keywords 'symbols) . font-lock-keyword-face)
      (,(concat "\\(" name "\\)[ \t]+=\\(?:[ \t]\\|$\\)") 1 font-lock-variable-name-face)
      ("\\_<\\([A-Za-z_][A-Za-z0-9_.-]*\\)=" 1 font-lock-constant-face)
      ("\\_<\\([a-z][a-z0-9]*\\)\\[" 1 font-lock-type-face)
      ("\\_<\\([a-z][a-z0-9-]*\\)(" 1 font-lock-function-name-face))))

;;;###autoload
(define-derived-mode hlo-mode prog-mode "HLO"
  "HLO text, the language of XLA."
  (setq-local font-lock-defaults '(hlo-mode-font-lock-keywords nil nil))
  (setq-local comment-start "// " comment-end "")
  (setq-local indent-tabs-mode nil tab-width 2))

;;;###autoload
(add-to-list 'auto-mode-alist '("\\.hlo\\'" . hlo-mode))
;;;###autoload
(add-to-list 'magic-mode-alist '("HloModule " . hlo-mode))

(defvar eglot-server-programs)
(with-eval-after-load 'eglot
  (add-to-list 'eglot-server-programs '(hlo-mode . ("hlo" "lsp"))))

(provide 'hlo-mode)
;;; hlo-mode.el ends here
