// Starts `hlo lsp` for HLO documents.
const { workspace } = require('vscode');
const { LanguageClient } = require('vscode-languageclient/node');

let client;

async function activate() {
  const settings = workspace.getConfiguration('hlo');
  const server = { command: settings.get('path'), args: ['lsp', ...settings.get('arguments')] };
  client = new LanguageClient('hlo', 'HLO text', server, { documentSelector: [{ language: 'hlo' }] });
  await client.start();
}

function deactivate() {
  return client?.stop();
}

module.exports = { activate, deactivate };
