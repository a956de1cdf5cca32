// Windows over the page: the browser keeps the focus inside, Escape closes. One form asks for a word to be typed before it does harm.
import type { ComponentChildren } from 'preact';
import { useEffect, useId, useRef, useState } from 'preact/hooks';
import { html, type View } from '../html.ts';

export interface DialogProps {
  readonly title: string;
  readonly onClose: () => void;
  readonly children?: ComponentChildren;
}

/** Open for as long as it is drawn. */
export function Dialog({ title, onClose, children }: DialogProps): View {
  const element = useRef<HTMLDialogElement>(null);
  const id = useId();
  useEffect(() => {
    const opener = document.activeElement;
    element.current?.showModal();
    return () => {
      if (opener instanceof HTMLElement && opener.isConnected) opener.focus();
    };
  }, []);
  return html`<dialog ref=${element} aria-labelledby=${id} onClose=${onClose}>
    <div class="dialog-head">
      <h2 id=${id}>${title}</h2>
      <button type="button" class="plain" aria-label="Close" onClick=${onClose}>×</button>
    </div>
    ${children}
  </dialog>`;
}

export interface ConfirmProps {
  readonly title: string;
  /** The text of the button: `Reset all counters`. */
  readonly action: string;
  /** The word that must be typed; absent: none. */
  readonly word?: string;
  readonly onConfirm: () => Promise<void>;
  readonly onClose: () => void;
  readonly children?: ComponentChildren;
}

/** Closes when `onConfirm` has resolved; shows why it has rejected. */
export function ConfirmDialog({ title, action, word, onConfirm, onClose, children }: ConfirmProps): View {
  const [typed, setTyped] = useState('');
  const [problem, setProblem] = useState('');
  const [isBusy, setBusy] = useState(false);
  const id = useId();
  const submit = async (event: Event): Promise<void> => {
    event.preventDefault();
    if (word !== undefined && typed !== word) {
      setProblem(`Type ${word} to confirm.`);
      return;
    }
    setBusy(true);
    try {
      await onConfirm();
      onClose();
    } catch (error) {
      setBusy(false);
      setProblem((error as Error).message);
    }
  };
  return html`<${Dialog} title=${title} onClose=${onClose}>
    <form onSubmit=${submit} novalidate>
      ${children}
      ${
        word !== undefined &&
        html`<label for=${id}>Type <strong>${word}</strong> to confirm</label>
          <input id=${id} autocomplete="off" value=${typed} onInput=${(event: Event) => setTyped(fieldText(event))} />`
      }
      ${problem !== '' && html`<p class="problem" role="alert">${problem}</p>`}
      <div class="buttons">
        <button type="button" onClick=${onClose}>Cancel</button>
        <button class="danger" disabled=${isBusy}>${isBusy ? 'Working…' : action}</button>
      </div>
    </form>
  </${Dialog}>`;
}

/** The text in the field of an event. */
export function fieldText({ currentTarget }: Event): string {
  const isField = currentTarget instanceof HTMLInputElement || currentTarget instanceof HTMLSelectElement;
  return isField || currentTarget instanceof HTMLTextAreaElement ? currentTarget.value : '';
}
