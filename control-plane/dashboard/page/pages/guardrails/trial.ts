// The test box: what the guardrails in force say of a text, without sending it to anyone.
import { useState } from 'preact/hooks';
import { ApiError, ask } from '../../api.ts';
import { html, type View } from '../../html.ts';
import { Badge, type Tone } from '../../parts/badge.ts';
import { SelectField, TextField } from '../../parts/fields.ts';
import { guardrailsPath, type Kind, kindWords } from './guardrail.ts';

interface Verdict {
  readonly name: string;
  readonly kind: Kind;
  readonly mode: 'enforce' | 'shadow';
  readonly outcome: string;
  readonly reason?: string;
}

interface Tried {
  readonly refused: { readonly code: string; readonly reason: string } | null;
  readonly verdicts: readonly Verdict[];
  readonly text?: string;
  readonly instance: string;
}

const outcomes: Readonly<Record<string, readonly [text: string, tone: Tone]>> = {
  pass: ['passes', 'good'],
  flag: ['flags', 'warn'],
  revise: ['changes it', 'info'],
  block: ['refuses', 'bad'],
  failed: ['gave no verdict', 'warn'],
  not_asked: ['is not asked here', 'plain'],
  not_reached: ['is not reached', 'plain'],
};

const phases = [
  ['input', 'A user says it'],
  ['output', 'A model answers it'],
] as const;

export function Trial(): View {
  const [text, setText] = useState('');
  const [phase, setPhase] = useState('input');
  const [userPath, setUserPath] = useState('');
  const [model, setModel] = useState('');
  const [said, setSaid] = useState<{ readonly tried?: Tried; readonly problem?: string }>({});
  const [isBusy, setBusy] = useState(false);
  const submit = async (event: Event): Promise<void> => {
    event.preventDefault();
    setBusy(true);
    const given = {
      ...(userPath.trim() === '' ? {} : { user_path: userPath }),
      ...(model.trim() === '' ? {} : { model }),
    };
    try {
      const { body } = await ask<Tried>(`${guardrailsPath}/test`, { method: 'POST', body: { text, phase, ...given } });
      setSaid({ tried: body });
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
      const isElsewhere = error.code === 'answered_by_proxies';
      setSaid({
        problem: isElsewhere
          ? 'Only a proxy can try guardrails: open the dashboard at the address of a proxy.'
          : error.message,
      });
    }
    setBusy(false);
  };
  return html`<section class="card">
    <h2>Try a text</h2>
    <form class="trial" onSubmit=${submit}>
      <${TextField} label="Text" name="text" rows=${4} value=${text} placeholder="Write to ann@example.com about project Bluebird" onChange=${setText} />
      <div class="fields">
        <${SelectField} label="Who says it" name="phase" value=${phase} options=${phases} onChange=${setPhase} />
        <${TextField} label="User path" name="user_path" value=${userPath} isCode placeholder="/" suggest="user_paths" onChange=${setUserPath} />
        <${TextField} label="Model" name="model" value=${model} isCode placeholder="chat" suggest="models" onChange=${setModel} />
      </div>
      <div class="buttons">
        <p class="small quiet">Nothing is sent, counted or recorded.</p>
        <button class="primary" disabled=${isBusy || text === ''}>${isBusy ? 'Trying…' : 'Try'}</button>
      </div>
    </form>
    <div role="status">
      ${said.problem !== undefined && html`<p class="problem">${said.problem}</p>`}
      ${said.tried !== undefined && html`<${Verdicts} of=${said.tried} />`}
    </div>
  </section>`;
}

function Verdicts({ of: { refused, verdicts, text, instance } }: { readonly of: Tried }): View {
  return html`<div class="tried">
    <p>${
      verdicts.length === 0
        ? 'No guardrail looks at this.'
        : refused === null
          ? 'It would go on.'
          : html`<strong>It would be refused</strong> with ${refused.code}: ${refused.reason}`
    } <span class="small quiet">According to ${instance}.</span></p>
    <ol class="list">
      ${verdicts.map(({ name, kind, mode, outcome, reason }) => {
        const [words, tone] = outcomes[outcome] ?? [outcome, 'plain'];
        return html`<li key=${name}>
          <span class="name">${name}</span> <span class="quiet small">${kindWords[kind]}</span>
          <${Badge} tone=${tone}>${mode === 'shadow' && outcome !== 'pass' ? `shadow: ${words}` : words}</${Badge}>
          ${reason !== undefined && html`<span class="small">${reason}</span>`}
        </li>`;
      })}
    </ol>
    ${text !== undefined && verdicts.some(({ outcome }) => outcome === 'revise') && html`<div><h3>As it would go on</h3><pre tabindex="0">${text}</pre></div>`}
  </div>`;
}
