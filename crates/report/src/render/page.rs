//! A document of headings, sentences, tables and pictures: a value, which [`html`](super::html) and [`markdown`](super::markdown) write.

use super::chart_sections::{ChartSection, Picture};
use super::matrix::Matrix;
use crate::findings::FindingItem;
use crate::table::Table;
use plot::figure::Figure;

#[derive(Clone, Debug, Default)]
pub struct Page {
    /// What it is, in a word or two.
    pub title: String,
    /// What it is of, above the headline.
    pub about: Vec<String>,
    /// What was asked, above the headline; empty if nothing was.
    pub question: String,
    pub headline: String,
    /// What it comes to, in sentences.
    pub lead: Vec<String>,
    /// What follows them on the first screen.
    pub opening: Vec<PageBlock>,
    pub sections: Vec<PageSection>,
    /// The conditions of its pictures, for a picture that is saved: each once.
    pub measured: Vec<String>,
    /// The version that recorded the run, if it is of one.
    pub recorded_by: Option<String>,
}

impl Page {
    pub fn figures(&self) -> impl Iterator<Item = &Figure> {
        let blocks = self.sections.iter().flat_map(|section| &section.blocks);
        self.opening.iter().chain(blocks).flat_map(|block| match block {
            PageBlock::Figures(figures) => figures.as_slice(),
            _ => &[],
        })
    }
}

/// A part of a document.
#[derive(Clone, Debug, Default)]
pub struct PageSection {
    /// Where a link to it leads; empty if the document has no contents.
    pub id: &'static str,
    pub title: String,
    /// If it is folded: what is shown of it next to the heading.
    pub folded: Option<String>,
    /// What is in it.
    pub blocks: Vec<PageBlock>,
}

/// A piece of a section.
#[derive(Clone, Debug)]
pub enum PageBlock {
    /// A heading below that of the section.
    Heading(String),
    Paragraph(String),
    /// Sentences that most readers skip.
    Small(String),
    /// The answer.
    Lead(String),
    /// A list of sentences.
    List(Vec<String>),
    Table(Table),
    /// A row for each thing that is compared.
    Matrix(Vec<Matrix>),
    /// A sentence that warns.
    Caution(String),
    /// A sentence that warns of a wrong conclusion.
    Error(String),
    /// How many points are how valid, and what that means.
    Trust(Vec<(usize, &'static str)>, String),
    /// What to do next.
    Next(String),
    Findings(Vec<FindingItem>),
    /// Text to be pasted, as it is.
    Code(String),
    Facts(Vec<PageFact>),
    /// Files of the same report.
    Links(Vec<PageLink>),
    /// Pictures, which belong to the page.
    Figures(Vec<Figure>),
    /// Pictures as they are drawn for the page of a run. They are in no other document.
    Pictures(Vec<Picture>),
    /// The picture that shows most, on the first screen.
    Main(ChartSection),
    /// What is behind a line until it is opened.
    Folded(String, Vec<PageBlock>),
    /// Links to all sections, for a screen that has no room for them next to the page.
    Contents,
}

/// A name with its value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PageFact {
    pub name: String,
    pub value: String,
    /// What it means, for those who point at the name; empty if the name says it.
    pub meaning: String,
}

impl PageFact {
    pub fn new(name: impl Into<String>, value: impl Into<String>) -> PageFact {
        PageFact { name: name.into(), value: value.into(), meaning: String::new() }
    }
}

/// A link to a file of the same report.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PageLink {
    /// What it leads to.
    pub text: String,
    /// The file, relative to the page: small letters, digits, dashes, dots and slashes.
    pub file: String,
}
