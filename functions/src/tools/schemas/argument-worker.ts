import { answerQuestions } from './answer-questions.ts'
import { createValidateArguments } from './validate-arguments.ts'

// A program of its own: its questions are definitions and arguments.
answerQuestions(createValidateArguments())
