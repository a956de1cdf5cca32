// The playground: asks a model as a client would, shows the answer as it comes with its cost, and gives the same request as a program.
import { useEffect, useRef, useState } from 'preact/hooks';
import { Cell, useCell } from '../cell.ts';
import { html, type View } from '../html.ts';
import { AskProxy } from '../parts/ask-proxy.ts';
import { CopyButton } from '../parts/copy-button.ts';
import { CheckField, FieldProblem, type Problem, TextField } from '../parts/fields.ts';
import { Empty } from '../parts/states.ts';
import { place } from '../router.ts';
import { session } from '../session-state.ts';
import { AnswerCard, type Asked } from './playground/answer.ts';
import { askModel } from './playground/ask-model.ts';
import { bodyOf, type Draft, emptyDraft, mistakeIn } from './playground/draft.ts';
import { KeyField } from './playground/key-field.ts';
import { type Language, languages, programOf } from './playground/programs.ts';
import { trialKey } from './playground/trial-key.ts';

/** What was written and answered is there again when the viewer comes back; it is in no address, and nowhere stored. */
const written = new Cell<Draft>(emptyDraft);
const answered = new Cell<Asked | undefined>(undefined);

session.watch(({ standing }) => {
  if (standing === 'in') return;
  written.set(emptyDraft);
  answered.set(undefined);
});

export function view(): View {
  const { who } = useCell(session);
  const { query } = useCell(place);
  const draft = useCell(written);
  const answer = useCell(answered);
  const asked = query.get('model');
  useEffect(() => {
    if (asked !== null) written.set({ ...written.value, model: asked });
  }, [asked]);
  if (who === undefined) return null;
  const isElsewhere = answer?.run.code === 'route_not_found' && answer.run.status === 404;
  return html`<h1>Playground</h1>
    <p class="quiet">Ask a model through this gateway, with the key of a client: rules, budgets and guardrails hold as for everyone.</p>
    <div class="play">
      <section class="card" aria-label="Request"><${Form} draft=${draft} who=${who} /></section>
      <div class="play-side">
        ${
          isElsewhere
            ? html`<${AskProxy} what="Models are asked through the proxies" />`
            : answer === undefined
              ? html`<section class="card"><${Empty} title="Nothing was asked yet."><p>Write a prompt and send it. The answer appears here as it comes, with its tokens, its cost and what is left of the limits.</p></${Empty}></section>`
              : html`<${AnswerCard} of=${answer} />`
        }
        <${Program} draft=${draft} />
      </div>
    </div>`;
}

interface FormProps {
  readonly draft: Draft;
  readonly who: NonNullable<typeof session.value.who>;
}

function Form({ draft, who }: FormProps): View {
  const { value: key, issued } = useCell(trialKey);
  const [problem, setProblem] = useState<Problem | undefined>(undefined);
  const [isBusy, setBusy] = useState(false);
  const over = useRef<AbortController>(undefined);
  useEffect(() => () => over.current?.abort(), []);
  const change = (some: Partial<Draft>): void => written.set({ ...written.value, ...some });
  const send = async (event: Event): Promise<void> => {
    event.preventDefault();
    const [field, message] =
      mistakeIn(draft) ?? (key === '' && who.kind !== 'anonymous' ? ['key', 'Type a key, or make one.'] : []);
    setProblem(field === undefined || message === undefined ? undefined : { field, message });
    if (field !== undefined) return;
    over.current = new AbortController();
    const model = draft.model.trim();
    setBusy(true);
    await askModel({ key, body: bodyOf(draft), signal: over.current.signal }, (run) =>
      answered.set({ run, model, issued }),
    );
    setBusy(false);
  };
  return html`<form class="play-form" onSubmit=${send} novalidate>
    <${FieldProblem.Provider} value=${problem}>
      ${who.kind !== 'anonymous' && html`<${KeyField} who=${who} />`}
      ${problem?.field === 'key' && html`<p class="small problem" role="alert">${problem.message}</p>`}
      <${TextField} label="Model or alias" name="model" value=${draft.model} isCode placeholder="chat" suggest="models" onChange=${(model: string) => change({ model })} />
      <${TextField} label="System (optional)" name="system" rows=${2} value=${draft.system} placeholder="You answer in one sentence." onChange=${(system: string) => change({ system })} />
      <${TextField} label="Prompt" name="prompt" rows=${6} value=${draft.prompt} placeholder="What is a gateway?" onChange=${(prompt: string) => change({ prompt })} />
      <div class="fields">
        <${TextField} label="Temperature" name="temperature" value=${draft.temperature} placeholder="that of the model" onChange=${(temperature: string) => change({ temperature })} />
        <${TextField} label="Tokens, at most" name="maxTokens" isNumber value=${draft.maxTokens} placeholder="no cap" onChange=${(maxTokens: string) => change({ maxTokens })} />
      </div>
      <${CheckField} name="stream" value=${draft.stream} onChange=${(stream: boolean) => change({ stream })}>Show the answer as it comes</${CheckField}>
    </${FieldProblem.Provider}>
    <div class="buttons">
      ${isBusy && html`<button type="button" onClick=${() => over.current?.abort()}>Stop</button>`}
      <button class="primary" disabled=${isBusy}>${isBusy ? 'Asking…' : 'Send'}</button>
    </div>
  </form>`;
}

function Program({ draft }: { readonly draft: Draft }): View {
  const [language, setLanguage] = useState<Language>('curl');
  const text = programOf(language, bodyOf(draft), location.origin);
  return html`<section class="card" aria-label="The same as a program">
    <div class="page-head">
      <h2>The same as a program</h2>
      <div class="switcher" role="group" aria-label="Language">
        ${languages.map(([each, name]) => html`<button type="button" key=${each} aria-pressed=${each === language} onClick=${() => setLanguage(each)}>${name}</button>`)}
      </div>
    </div>
    <div class="copied">
      <pre tabindex="0">${text}</pre>
      <${CopyButton} text=${text} what="program" />
    </div>
    <p class="small quiet">The key comes from the variable <code>GATEWAY_KEY</code>.</p>
  </section>`;
}
