// Starts `hlo lsp` for HLO texts.
use zed_extension_api as zed;

struct Hlo;

impl zed::Extension for Hlo {
    fn new() -> Self {
        Hlo
    }

    fn language_server_command(
        &mut self,
        _server: &zed::LanguageServerId,
        worktree: &zed::Worktree,
    ) -> zed::Result<zed::Command> {
        let program = worktree.which("hlo").ok_or("the program hlo is not in PATH")?;
        Ok(zed::Command { command: program, args: vec!["lsp".into()], env: worktree.shell_env() })
    }
}

zed::register_extension!(Hlo);
