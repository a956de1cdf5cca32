// The clients that are tried, a row of the table each.
import { anthropic } from './anthropic.ts';
import type { Client } from './client.ts';
import { langchainAnthropic, langchainChat, langchainResponses } from './langchain.ts';
import { openaiChat } from './openai-chat.ts';
import { openaiResponses } from './openai-responses.ts';
import { vercelAnthropic, vercelChat, vercelResponses } from './vercel.ts';

export const clients: readonly Client[] = [
  openaiChat,
  openaiResponses,
  anthropic,
  vercelChat,
  vercelResponses,
  vercelAnthropic,
  langchainChat,
  langchainResponses,
  langchainAnthropic,
];
