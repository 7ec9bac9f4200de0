/**
 * Builds CodeMirror editors.
 *
 * Each stands in a shadow root. There, CodeMirror adopts constructed style sheets; in the document it would
 * add `style` elements, which the policy of the page forbids.
 */

import {
  autocompletion,
  closeBrackets,
  closeBracketsKeymap,
  completionKeymap,
  type CompletionSource,
} from '@codemirror/autocomplete';
import { defaultKeymap, history, historyKeymap } from '@codemirror/commands';
import { bracketMatching, HighlightStyle, indentUnit, syntaxHighlighting } from '@codemirror/language';
import { setDiagnostics } from '@codemirror/lint';
import { Compartment, EditorState, type Extension } from '@codemirror/state';
import { drawSelection, EditorView, keymap, lineNumbers, placeholder } from '@codemirror/view';
import { tags } from '@lezer/highlight';

/** A message at a place, in characters from the beginning. */
export interface Mark {
  from: number;
  to: number;
  message: string;
}

export interface Settings {
  value: string;
  label: string;
  language: 'sql' | 'json' | 'text';
  single: boolean;
  readonly: boolean;
  placeholder: string;
  schema?: Record<string, string[]> | undefined;
  complete?: CompletionSource | undefined;
  change: (text: string) => void;
  submit: () => void;
}

export interface Handle {
  setValue(text: string): void;
  setMarks(marks: readonly Mark[]): void;
  setSchema(schema: Record<string, string[]> | undefined): void;
  focus(): void;
  destroy(): void;
}

const highlight = HighlightStyle.define([
  { tag: [tags.keyword, tags.operatorKeyword], color: 'var(--code-keyword)' },
  { tag: [tags.string, tags.special(tags.string)], color: 'var(--code-text)' },
  { tag: [tags.number, tags.bool, tags.null], color: 'var(--code-number)' },
  { tag: [tags.propertyName, tags.typeName], color: 'var(--code-name)' },
  { tag: tags.comment, color: 'var(--muted)', fontStyle: 'italic' },
]);

const theme = EditorView.theme({
  '&': { color: 'var(--text)', backgroundColor: 'transparent', fontSize: '0.8125rem', maxHeight: '60vh' },
  '&.cm-focused': { outline: 'none' },
  '.cm-content': {
    fontFamily: 'var(--mono)',
    lineHeight: '1.25rem',
    padding: '6px 0',
    caretColor: 'var(--text)',
    minHeight: 'calc(var(--lines) * 1.25rem)',
  },
  '.cm-scroller': { overflow: 'auto' },
  '.cm-gutters': { backgroundColor: 'transparent', color: 'var(--muted)', border: 'none' },
  '.cm-cursor': { borderLeftColor: 'var(--text)' },
  '.cm-placeholder': { color: 'var(--muted)' },
  '&.cm-focused > .cm-scroller > .cm-selectionLayer .cm-selectionBackground, .cm-selectionBackground': {
    backgroundColor: 'var(--accent-soft)',
  },
  '.cm-tooltip': {
    color: 'var(--text)',
    backgroundColor: 'var(--raised)',
    border: '1px solid var(--line)',
    borderRadius: '6px',
  },
  '.cm-tooltip-autocomplete > ul': { fontFamily: 'var(--mono)' },
  '.cm-tooltip-autocomplete > ul > li[aria-selected]': { backgroundColor: 'var(--accent)', color: 'var(--on-accent)' },
  '.cm-diagnostic': { color: 'var(--text)', backgroundColor: 'var(--bad-soft)', borderLeft: '3px solid var(--bad)' },
  '.cm-lintRange-error': { backgroundImage: 'none', textDecoration: 'underline wavy var(--bad)' },
});

/**
 * Replaces a selection by a text of several characters. Left to the browser, the text would keep the colours
 * of what it replaces in a `style` attribute, which the policy of the page forbids.
 */
const replacement = EditorView.domEventHandlers({
  beforeinput(event, view) {
    const { inputType, data } = event;
    if (inputType !== 'insertText' || data === null || data.length < 2) return false;
    const { from, to } = selected(view);
    if (from === to) return false;
    event.preventDefault();
    view.dispatch({ changes: { from, to, insert: data }, selection: { anchor: from + data.length }, userEvent: 'input.type', scrollIntoView: true });
    return true;
  },
});

/** What is selected, also where the browser has not told the editor of it yet. */
function selected(view: EditorView): { from: number; to: number } {
  const { main } = view.state.selection;
  // Chromium has this method on shadow roots, too. Of a long text it knows only the lines in sight.
  const selection = (view.root as Partial<Document>).getSelection?.();
  const { anchorNode, focusNode } = selection ?? {};
  if (!main.empty || !selection || !anchorNode || !focusNode || ![anchorNode, focusNode].every((node) => view.contentDOM.contains(node))) return main;
  const places = [view.posAtDOM(anchorNode, selection.anchorOffset), view.posAtDOM(focusNode, selection.focusOffset)];
  return { from: Math.min(...places), to: Math.max(...places) };
}

export function createEditor(host: HTMLElement, settings: Settings): Handle {
  const root = host.shadowRoot ?? host.attachShadow({ mode: 'open' });
  root.replaceChildren();
  const language = new Compartment();
  let silent = false;

  const submit = { key: settings.single ? 'Enter' : 'Mod-Enter', run: () => (settings.submit(), true) };
  const extensions: Extension[] = [
    keymap.of([submit, ...(settings.single ? [{ key: 'Mod-Enter', run: submit.run }] : [])]),
    history(),
    drawSelection(),
    bracketMatching(),
    closeBrackets(),
    indentUnit.of('  '),
    syntaxHighlighting(highlight),
    theme,
    language.of([]),
    autocompletion(settings.complete === undefined ? {} : { override: [settings.complete] }),
    keymap.of([...completionKeymap, ...closeBracketsKeymap, ...defaultKeymap, ...historyKeymap]),
    EditorView.contentAttributes.of({ 'aria-label': settings.label }),
    settings.readonly ? EditorState.readOnly.of(true) : replacement,
    placeholder(settings.placeholder),
    EditorView.updateListener.of((update) => {
      if (update.docChanged && !silent) settings.change(update.state.doc.toString());
    }),
    settings.single
      ? EditorState.transactionFilter.of((transaction) => (transaction.newDoc.lines > 1 ? [] : transaction))
      : [lineNumbers(), EditorView.lineWrapping],
  ];
  const selection = { anchor: settings.value.length };
  const view = new EditorView({ state: EditorState.create({ doc: settings.value, selection, extensions }), parent: root, root });

  let destroyed = false;
  function load(schema: Settings['schema']) {
    const name = settings.language;
    if (name === 'text') return;
    void import('./languages').then(({ languageOf }) => {
      if (!destroyed) view.dispatch({ effects: language.reconfigure(languageOf(name, schema)) });
    });
  }
  load(settings.schema);

  return {
    setValue(text) {
      if (text === view.state.doc.toString()) return;
      silent = true;
      view.dispatch({ changes: { from: 0, to: view.state.doc.length, insert: text } });
      silent = false;
    },
    setMarks(marks) {
      const length = view.state.doc.length;
      const within = (place: number) => Math.max(0, Math.min(place, length));
      const diagnostics = marks.map((mark) => ({
        from: within(mark.from),
        to: within(Math.max(mark.to, mark.from + 1)),
        message: mark.message,
        severity: 'error' as const,
      }));
      view.dispatch(setDiagnostics(view.state, diagnostics));
    },
    setSchema: load,
    focus: () => view.focus(),
    destroy() {
      destroyed = true;
      view.destroy();
    },
  };
}
