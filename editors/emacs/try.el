;;; try.el --- A session of eglot with hlo lsp, in batch mode  -*- lexical-binding: t -*-

;; emacs -q --batch -L editors/emacs -l editors/emacs/try.el       needs eglot (Emacs 29, or elpa-eglot) and hlo in PATH
;;
;; Opens a text with an error, prints what the server says of it, mends it, asks for hover, definition and formatting.

;;; Code:

(require 'eglot)
(require 'flymake)
(require 'hlo-mode)

(defun try-until (what condition)
  "Wait up to 10 s until CONDITION gives something, which is returned; else fail with WHAT."
  (let ((end (+ (float-time) 10)) found)
    (while (and (not (setq found (funcall condition))) (< (float-time) end))
      (accept-process-output nil 0.05))
    (or found (error "No %s" what))))

(let ((file (make-temp-file "try" nil ".hlo"
                            "HloModule try\n\nENTRY main {\n  x = f32[2,3] parameter(0)\n  y = f32[3] negate(x)\n  ROOT z = f32[2,3]   add(x, y)\n}\n"))
      (eglot-sync-connect 10)
      (eglot-autoshutdown t))
  (find-file file)
  (unless (eq major-mode 'hlo-mode) (error "%s is opened in %s" file major-mode))
  (font-lock-ensure)
  (goto-char (point-min))
  (search-forward "negate")
  (princ (format "face of negate: %s\n" (get-text-property (1- (point)) 'face)))
  (apply #'eglot (eglot--guess-contact))
  (flymake-start)
  (princ (format "diagnostic: %s\n" (flymake-diagnostic-text (car (try-until "diagnostic" #'flymake-diagnostics)))))
  (goto-char (point-min))
  (search-forward "f32[3]")
  (replace-match "f32[2,3]")
  (eglot--signal-textDocument/didChange)
  (search-forward "add(x")
  (backward-char)
  (let* ((params (eglot--TextDocumentPositionParams))
         (hover (jsonrpc-request (eglot--current-server-or-lose) :textDocument/hover params))
         (place (jsonrpc-request (eglot--current-server-or-lose) :textDocument/definition params)))
    (princ (format "hover: %s\n" (car (split-string (format "%s" (plist-get (plist-get hover :contents) :value)) "\n"))))
    (princ (format "definition: line %d\n"
                   (1+ (plist-get (plist-get (plist-get (if (vectorp place) (aref place 0) place) :range) :start) :line)))))
  (eglot-format-buffer)
  (princ (buffer-string))
  (set-buffer-modified-p nil)
  (eglot-shutdown (eglot--current-server-or-lose))
  (delete-file file))

;;; try.el ends here
